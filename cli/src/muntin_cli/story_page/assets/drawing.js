// One frame of the picture: only what is in sight is drawn, and bars too close to tell apart become one with a count.

const TOP = 44;

class Drawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.hits = [];
    this.frames = 0;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1, { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    Object.assign(this, { ratio, width: clientWidth, height: clientHeight, left: clientWidth > 640 ? 132 : 0 });
  }

  retheme() { this.ink = new Ink(this.pen); }

  /** Draw all that has come at a position. */
  draw(app) {
    const { pen, ink, width, height, left } = this;
    this.app = app;
    this.story = app.story;
    const [low, high] = app.sight.range();
    Object.assign(this, { low, high, scale: (width - left) / (high - low), position: app.position });
    const batch = this.story.batchAt(app.position);
    this.newest = batch < 0 ? -Infinity : this.story.batches.newestAt[batch];
    this.watermark = batch < 0 ? -Infinity : this.story.batches.watermarkAt[batch];
    this.hits.length = 0;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.font = FONT;
    pen.textBaseline = "middle";
    pen.fillStyle = ink.paper;
    pen.fillRect(0, 0, width, height);
    this.drawTime();
    pen.save();
    pen.beginPath();
    pen.rect(left, TOP, width - left, height - TOP);
    pen.clip();
    const bands = app.bands.between(app.sight.y, app.sight.y + height - TOP);
    this.drawProgress();
    for (const band of bands) this.drawBand(band);
    if (app.focus) this.drawLinks();
    pen.restore();
    this.drawNames(bands);
    this.drawFlags();
    if (app.sight.overflow) this.drawBar(app.sight.bar());
    this.frames++;
  }

  x(at) { return at === Infinity ? 1e7 : at === -Infinity ? -1e7 : this.left + (at - this.low) * this.scale; }

  /** Of a lane, the places of the first and after the last bar that may be in sight. */
  inSight({ bars, reach }, from) {
    return [d3.bisectLeft(reach, this.low - 12 / this.scale), d3.bisector(number => from[number]).right(bars, this.high)];
  }

  drawTime() {
    const { pen, ink, left, width, height, story } = this;
    const shade = Math.min(width, this.x(this.watermark));
    if (shade > left) { pen.fillStyle = ink.pane; pen.globalAlpha = 0.45; pen.fillRect(left, TOP, shade - left, height - TOP); pen.globalAlpha = 1; }
    const [first, last] = [story.tick(this.low), story.tick(this.high)];
    pen.textAlign = "center";
    let until = left;
    for (const [tick, label] of story.axis.labels(first, last, Math.max(2, (width - left) / 110))) {
      const x = Math.round(this.x(Number(tick - story.origin))) + 0.5, room = pen.measureText(label).width / 2;
      if (x < left || x > width) continue;
      line(pen, x, TOP - 22, x, height, ink.edge);
      if (x - room < until || x + room > width - 2) continue;
      until = x + room + 14;
      pen.fillStyle = ink.paper;
      pen.fillRect(x - room - 3, 4, 2 * room + 6, 16);
      pen.fillStyle = ink.soft;
      pen.fillText(label, x, 12);
    }
    pen.textAlign = "left";
  }

  drawBand(band) {
    const { pen, ink, app } = this, top = TOP - app.sight.y;
    line(pen, 0, Math.round(top + band.y) + 0.5, this.width, Math.round(top + band.y) + 0.5, ink.edge);
    band.lanes.forEach((lane, i) => this.drawEvents(lane, top + band.lanesTop + (i + 0.5) * band.laneHeight, band.laneHeight));
    this.drawOthers(band.others, top + band.othersTop + MARKS / 2);
    for (const group of band.groups) {
      group.lanes.forEach((lane, i) => this.drawResults(lane, top + group.top + (i + 0.5) * group.laneHeight, group.laneHeight));
    }
  }

  hit(kind, number, x0, x1, y, height, count = 1) {
    this.hits.push([Math.min(x0, x1 - 6), y - height / 2, Math.max(x1, x0 + 6), y + height / 2, kind, number, count]);
  }

  faded(isFaded) { this.pen.globalAlpha = isFaded ? 0.22 : 1; }

  drawEvents(lane, y, height) {
    if (y < TOP - height || y > this.height + height) return;
    const { story, app, pen, ink, position } = this, { rows } = story, { focus, filters } = app;
    const wide = Math.min(10, height - 3), kept = [];
    const [first, last] = this.inSight(lane, rows.from);
    let roomFor = -1, roomAt = 0;
    const crowdOf = isFaded => new Crowd(
      (row, x0) => { this.faded(isFaded); drawEvent(pen, ink, x0, x0 + wide, y, height, true, false, false); this.hit("row", row, x0, x0 + wide, y, height); },
      (x0, x1, count) => { this.faded(isFaded); drawCrowd(pen, ink, x0, x1, y, height, count, false); this.hit("crowd", -1, x0, x1, y, height, count); });
    const [faint, crowd] = [crowdOf(true), crowdOf(Boolean(focus))];
    const label = until => {
      this.faded(focus || !filters.row[roomFor]);
      if (roomFor >= 0 && !focus?.rows.has(roomFor) && height >= 13 && until - roomAt > 10) this.noteRow(roomFor, roomAt, until, y);
      roomFor = -1;
    };
    for (let i = first; i < last; i++) {
      const row = lane.bars[i];
      if (rows.at[row] >= position || !filters.seenRow[row]) continue;
      const x0 = this.x(rows.from[row]), isChanged = story.changesOfEvent.has(row);
      label(x0);
      const state = isChanged ? story.eventAt(row, position) : null, end = state ? state.end : rows.to[row];
      const isOpen = end === Infinity, x1 = isOpen ? Math.max(this.x(this.newest), x0 + 16) : this.x(end);
      const role = focus?.rows.get(row);
      if (!isOpen && !isChanged && x1 - x0 < wide && !role && row !== app.current?.row) {
        (focus || filters.row[row] ? crowd : faint).add(x0, x0 + wide, row);
      } else {
        faint.flush();
        crowd.flush();
        kept.push([row, x0, x1, isOpen, state, role]);
      }
      // A point is drawn as a dot at its start, so what it says stands beside the dot and not after its tick.
      const isDot = !isOpen && rows.to[row] - rows.from[row] <= 1;
      roomFor = row;
      roomAt = (isDot ? x0 + wide : Math.max(x0 + wide, x1)) + 4;
    }
    faint.flush();
    crowd.flush();
    let until = Infinity;
    for (const [row, x0, x1, isOpen, state, role] of kept.reverse()) {
      this.drawLasting(row, x0, x1, y, height, isOpen, state, role, until);
      if (role) until = x0;
    }
    this.faded(focus);
    label(this.width);
    this.faded(false);
  }

  drawLasting(row, x0, x1, y, height, isOpen, state, role, until) {
    const { pen, ink, app } = this, { rows } = this.story;
    this.faded(app.focus ? !role : !app.filters.row[row]);
    const whole = state && state.last >= 0 && rows.to[row] !== Infinity ? this.x(Math.max(rows.to[row], state.end)) : x1;
    if (whole > x1 + 2 && !state.isGone) {
      line(pen, x1, y, whole - 4, y, ink.pale, 2.5, [3, 4]);
      dot(pen, whole - 4, y, 2.5, ink.paper, ink.pale);
    }
    const isPoint = rows.to[row] - rows.from[row] <= 1;
    const shownEnd = state?.isGone ? Math.max(rows.to[row] === Infinity ? 0 : this.x(rows.to[row]), x0 + 24) : x1;
    drawEvent(pen, ink, x0, shownEnd, y, height, isPoint, isOpen, Boolean(state?.isGone));
    if (state && state.last >= 0 && !state.isGone) line(pen, x1, y - height / 2 + 2, x1, y + height / 2 - 2, ink.event, 1.5);
    if (role) {
      this.ring(role, x0, Math.max(shownEnd, x0 + 10), y, height);
      const note = app.noteOf(row), from = (isPoint && !isOpen ? x0 + 10 : Math.max(shownEnd, x0 + 10)) + 7;
      if (height >= 13 && from + pen.measureText(note).width < until) this.writeNote(note, from, y, ink.ink);
    }
    if (row === app.current?.row) this.ring("now", x0, Math.max(shownEnd, x0 + 10), y, height);
    this.hit("row", row, x0, Math.max(x1, whole, shownEnd), y, height);
    this.faded(false);
  }

  /** Show the part that a row or a result has: a line around it, of another kind for each part. */
  ring(role, x0, x1, y, height) {
    const { pen, ink } = this, dash = { bounds: [2, 2], trigger: [6, 3], now: [1, 2] }[role] ?? [];
    pen.beginPath();
    pen.setLineDash(dash);
    pen.roundRect(x0 - 3, y - height / 2 - 1, x1 - x0 + 6, height + 2, 6);
    pen.strokeStyle = role === "now" ? ink.soft : ink.mark;
    pen.lineWidth = role === "self" ? 2.5 : 1.6;
    pen.stroke();
    pen.lineWidth = 1;
    pen.setLineDash([]);
  }

  noteRow(row, x, until, y) {
    const text = this.app.noteOf(row), room = until - x - 2;
    if (!text || text.length * 5 > room) return;
    if (this.pen.measureText(text).width > room) return;
    this.writeNote(text, x, y, this.ink.soft);
  }

  /** Write over lines, in letters with a rim. */
  writeNote(text, x, y, colour) {
    const { pen, ink } = this;
    pen.strokeStyle = ink.paper;
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    pen.strokeText(text, x, y);
    pen.lineWidth = 1;
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  }

  drawOthers(lane, y) {
    if (y < TOP - 20 || y > this.height + 20) return;
    const { story, app, pen, ink, position } = this, { rows } = story, { focus } = app;
    const marks = new Map();
    const [first, last] = this.inSight(lane, rows.from);
    for (let i = first; i < last; i++) {
      const row = lane.bars[i];
      if (rows.at[row] >= position || !app.filters.seenRow[row]) continue;
      const cell = Math.round(this.x(rows.from[row]) / 11), role = focus?.rows.get(row) ?? (row === app.current?.row ? "now" : null);
      const mark = marks.get(cell);
      if (mark) { mark.count++; if (role) Object.assign(mark, { row, role }); }
      else marks.set(cell, { row, role, count: 1, x: this.x(rows.from[row]) });
    }
    for (const { row, role, count, x } of marks.values()) {
      this.faded(focus ? !role : !app.filters.row[row]);
      drawOther(pen, ink, x, y, rows.fate.at(row));
      if (count > 1) line(pen, x - 4, y + 7, x + 4, y + 7, ink.mark, 2);
      if (role) this.ring(role, x - 6, x + 6, y, MARKS);
      this.hit(count > 1 ? "crowd" : "row", row, x - 6, x + 6, y, MARKS, count);
    }
    this.faded(false);
  }

  drawResults(lane, y, height) {
    if (y < TOP - height || y > this.height + height) return;
    const { story, app, pen, ink, position } = this, { changes } = story, { focus } = app, shown = app.filters.seenChange;
    const [first, last] = this.inSight(lane, changes.from), strong = [];
    const crowd = new Crowd(
      (number, x0, x1) => this.drawOneResult(number, x0, x1, y, height),
      (x0, x1, count) => { this.faded(focus); drawCrowd(pen, ink, x0, x1, y, height, count, true); this.hit("crowd", -1, x0, x1, y, height, count); });
    for (let i = first; i < last; i++) {
      const number = lane.bars[i], next = changes.hiddenBy[number];
      if (changes.at[number] >= position || (next >= 0 && changes.at[next] < position)) continue;
      if (!shown[number] && !(story.changesOfResult.get(number).some(each => shown[each]))) continue;
      const x0 = this.x(changes.from[number]), end = changes.to[number];
      const x1 = end === Infinity ? this.width + 20 : this.x(end);
      if (focus?.results.has(number)) strong.push([number, x0, x1]);
      else if (x1 - x0 < 5) crowd.add(x0, Math.max(x1, x0 + 4), number);
      else { crowd.flush(); this.drawOneResult(number, x0, x1, y, height); }
    }
    crowd.flush();
    for (const [number, x0, x1] of strong) this.drawOneResult(number, x0, x1, y, height);
    this.faded(false);
  }

  drawOneResult(number, x0, x1, y, height) {
    const { app, story, pen, ink } = this, role = app.focus?.results.get(number);
    const { last, count, isGone } = story.resultAt(number, this.position);
    const look = { isGone, isEarly: Boolean(story.changes.isEarly[last]), isRevised: count > 1 && !isGone };
    const [from, to] = [Math.max(x0, this.left - 6), Math.min(x1, this.width + 6)];
    this.faded(app.focus ? !role : !app.filters.change[last]);
    const life = this.x(story.changes.lifeTo[number]);
    if (life > x1 + 1) line(pen, x1, y, Math.min(life, this.width + 6), y, ink.pale2, 2, [2, 3]);
    drawResult(pen, ink, from + 1, to - 1, y, height, look, height >= 14 ? this.fitting(app.labelsOf(last), to - from - 4) : "");
    if (role) this.ring(role, x0, x1, y, height - 2);
    if (number === app.current?.result) this.ring("now", x0, x1, y, height - 2);
    this.hit("change", last, x0, x1, y, height);
  }

  /** The first text for which there is room. */
  fitting(texts, room) {
    this.pen.font = `600 ${FONT}`;
    const found = room < 10 ? "" : texts.find(text => text.length * 4 < room && this.pen.measureText(text).width <= room) ?? "";
    this.pen.font = FONT;
    return found;
  }

  /** Lines between what is selected and its causes, or what it caused. */
  drawLinks() {
    const { app, pen, ink, story } = this, { focus, bands } = app, top = TOP - app.sight.y;
    if (focus.rows.size * Math.max(1, focus.results.size) > 400) return;
    pen.globalAlpha = 0.75;
    for (const [number, role] of focus.results) {
      const y1 = bands.middleOfResult(story, number);
      if (y1 === null || story.changes.at[number] >= this.position) continue;
      const x1 = this.x((story.changes.from[number] + Math.min(story.changes.to[number], this.high)) / 2);
      for (const [row, part] of focus.rows) {
        if (part === "now" || (focus.kind === "row" && part !== "self") || (focus.kind === "change" && role !== "self")) continue;
        const y0 = bands.middleOfRow(story, row);
        if (y0 === null || story.rows.at[row] >= this.position || Math.abs(y0 - y1) > 4000) continue;
        const x0 = this.x(story.rows.from[row]) + 5, bend = (y1 - y0) / 2;
        pen.beginPath();
        pen.setLineDash(part === "bounds" ? [2, 3] : part === "trigger" ? [6, 4] : []);
        pen.moveTo(x0, top + y0 + 6);
        pen.bezierCurveTo(x0, top + y0 + bend, x1, top + y1 - bend, x1, top + y1 - 12);
        pen.strokeStyle = ink.mark;
        pen.stroke();
      }
    }
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  drawProgress() {
    const { pen, ink } = this;
    for (const [at, dash, width] of [[this.newest, [2, 3], 1.5], [this.watermark, [], 2]]) {
      if (Number.isFinite(at)) line(pen, this.x(at), TOP, this.x(at), this.height, ink.mark, width, dash);
    }
  }

  /** Say which line is which: the one on the left to the left of it, and the other to the right. */
  drawFlags() {
    const { pen, ink, story, left, width } = this, isFirst = this.watermark <= this.newest;
    line(pen, 0, TOP - 0.5, width, TOP - 0.5, ink.edge);
    let taken = [width, width];
    const flags = [["max event time", this.newest, !isFirst, [2, 3]], ["watermark", this.watermark, isFirst, []]].filter(([, at]) => at > -Infinity);
    for (const [, at, , dash] of flags) {
      if (this.x(at) >= left && this.x(at) <= width) line(pen, this.x(at), TOP - 21, this.x(at), TOP, ink.mark, dash.length ? 1.5 : 2, dash);
    }
    for (const [name, at, isLeft] of flags) {
      const place = this.x(at), said = `${name} ${at === Infinity ? "∞" : story.axis.spell(story.tick(at))}`;
      const text = place < left ? `‹ ${said}` : place > width ? `${said} ›` : said, room = pen.measureText(text).width + 12;
      const x = Math.max(left + 1, Math.min(width - 1, place));
      let from = isLeft ? x - room : x;
      if (from < left) from = left;
      if (from + room > width) from = width - room;
      if (from < taken[1] && from + room > taken[0]) from = isLeft || taken[1] + room > width ? taken[0] - room : taken[1];
      if (from < left || from + room > width) continue;
      taken = [from, from + room];
      pen.fillStyle = ink.paper;
      pen.fillRect(from + 1.5, TOP - 21, room - 3, 19);
      pen.fillStyle = ink.mark;
      pen.fillText(text, from + 5, TOP - 11);
    }
  }

  drawNames(bands) {
    const { pen, ink, left, app } = this, top = TOP - app.sight.y;
    if (left) {
      pen.fillStyle = ink.paper;
      pen.fillRect(0, 0, left, this.height);
      line(pen, left - 0.5, TOP, left - 0.5, this.height, ink.edge);
      pen.fillStyle = ink.soft;
      pen.fillText(this.clipped(this.story.keyNames.join(" · ") || "all rows", left - 16), 10, 12);
    }
    pen.save();
    pen.beginPath();
    pen.rect(0, TOP, left || this.width, this.height - TOP);
    pen.clip();
    for (const band of bands) {
      line(pen, 0, Math.round(top + band.y) + 0.5, left, Math.round(top + band.y) + 0.5, ink.edge);
      pen.font = `600 ${FONT}`;
      pen.fillStyle = ink.ink;
      const name = this.clipped(this.story.keys[band.key], (left || this.width) - 20);
      const lowest = top + band.y + band.height - 12, y = Math.max(top + band.y + (left ? 15 : 10), Math.min(TOP + 13, lowest));
      if (!left) { const room = pen.measureText(name).width; pen.fillStyle = ink.paper; pen.fillRect(6, y - 8, room + 8, 16); pen.fillStyle = ink.ink; }
      pen.fillText(name, 10, y);
      pen.font = FONT;
      if (left) this.drawLaneNames(band, top, y + 10);
    }
    pen.restore();
  }

  drawBar([top, length]) {
    const { pen, ink, width } = this;
    pen.beginPath();
    pen.roundRect(width - 9, TOP + top + 2, 6, length - 4, 3);
    pen.fillStyle = ink.soft;
    pen.globalAlpha = 0.45;
    pen.fill();
    pen.globalAlpha = 1;
  }

  drawLaneNames(band, top, least) {
    const { pen, ink, left } = this;
    const say = (text, y) => { if (y > least + 2 && y > TOP + 6) pen.fillText(this.clipped(text, left - 20), left - 10, y); };
    pen.textAlign = "right";
    pen.fillStyle = ink.soft;
    band.inputs.forEach((name, i) => {
      if (name ? name !== band.inputs[i - 1] : i === 1) say(name || "events", top + band.lanesTop + (i + 0.5) * band.laneHeight);
    });
    if (band.others.bars.length) say("other rows", top + band.othersTop + MARKS / 2);
    for (const group of band.groups) say(group.name || "results", top + group.top + group.laneHeight / 2);
    pen.textAlign = "left";
  }

  clipped(text, room) {
    if (this.pen.measureText(text).width <= room) return text;
    let end = Math.min(text.length, Math.ceil(room / 4));
    while (end > 0 && this.pen.measureText(`${text.slice(0, end)}…`).width > room) end--;
    return `${text.slice(0, end)}…`;
  }

  /** What is at a point, the last drawn first. */
  at(x, y) {
    for (let i = this.hits.length - 1; i >= 0; i--) {
      const [x0, y0, x1, y1, kind, number, count] = this.hits[i];
      if (x >= x0 - 2 && x <= x1 + 2 && y >= y0 && y <= y1) return { kind, number, count, x0, x1 };
    }
    return null;
  }
}
