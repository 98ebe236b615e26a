// The page: what is selected and filtered, at which position, and all that shows it.

const byId = id => document.getElementById(id);

class App {
  constructor(data) {
    this.find = byId("find");
    this.drawing = new Drawing(byId("picture"));
    this.details = new Details(byId("details"), this);
    this.stepping = new Stepping(this);
    this.overview = new Overview(byId("overview"), this);
    this.sight = new Sight(byId("picture"), () => this.redraw());
    this.matches = new Matches(this, byId("matches"));
    this.tables = Object.keys(TABLES).map(kind => new Table(kind, this, byId(`table-${kind}`)));
    this.chain = new Chain(this, byId("query"));
    this.show(this.chain.load(data));
    this.listen();
    this.showTable("changes");
    this.retheme();
    this.sight.over(this.story);
    this.resize();
    this.goTo(this.story.count);
    this.select(null);
  }

  /** Take a story, the first one, one that has gone on or that of another query; a reader at its end stays there. */
  show(story) {
    const isAtEnd = !this.story || this.position === this.story.count, before = this.filters;
    this.story = story;
    this.filters = new Filters(this.story);
    if (before) for (const name of ["key", "text", "column", "low", "high"]) this.filters[name] = before[name];
    this.filters.apply();
    this.position = isAtEnd ? this.story.count : Math.min(this.position, this.story.count);
    document.title = `${this.story.title} · recording`;
    byId("title").textContent = this.story.title;
    byId("note").textContent = [this.story.axis.note, ...this.story.notes].filter(Boolean).join("; ");
    byId("plan-text").textContent = this.story.plan;
    byId("position").max = this.story.count;
    byId("keys").replaceChildren(...this.story.keys.slice(0, 2000).map(name => make("option", { value: name })));
    byId("column").replaceChildren(make("option", { value: "" }, "all columns"), ...this.story.changes.values.names.map(name => make("option", { value: name }, name)));
    byId("column").value = this.filters.column;
    const [low, high] = [this.story.tick(0), this.story.tick(this.story.length)];
    byId("low").placeholder = this.story.axis.spell(low);
    byId("high").placeholder = this.story.axis.spell(high);
  }

  /** Show the story that was taken, at a position. */
  goOn(position = this.position) {
    this.sight.over(this.story);
    this.resize();
    this.goTo(position);
  }

  listen() {
    const on = (id, event, act) => byId(id).addEventListener(event, act);
    on("first", "click", () => this.goTo(0));
    on("back", "click", () => this.step(-1));
    on("forward", "click", () => this.step(1));
    on("last", "click", () => this.goTo(this.story.count));
    on("position", "input", event => this.goTo(Number(event.target.value)));
    on("zoom-in", "click", () => this.sight.by(1.6));
    on("zoom-out", "click", () => this.sight.by(1 / 1.6));
    on("zoom-all", "click", () => this.sight.showAll());
    on("theme", "click", () => this.toggleTheme());
    on("help-open", "click", () => this.help(true));
    on("clear", "click", () => this.clear());
    on("more", "click", event => {
      const isOpen = byId("filters").classList.toggle("open");
      event.currentTarget.setAttribute("aria-expanded", String(isOpen));
    });
    for (const radio of document.querySelectorAll("input[name=unit]")) radio.addEventListener("change", () => { this.stepping.unit = radio.value; });
    for (const id of ["find", "key", "column", "low", "high"]) on(id, "input", () => this.filter());
    for (const tab of document.querySelectorAll("[role=tab]")) {
      tab.addEventListener("click", () => this.showTable(tab.dataset.table));
      tab.addEventListener("keydown", event => { if (event.key.startsWith("Arrow")) { event.stopPropagation(); event.preventDefault(); this.showTable(this.shownTable === "rows" ? "changes" : "rows", true); } });
    }
    const { canvas } = this.drawing, tip = byId("tip");
    canvas.addEventListener("click", event => this.clicked(event.offsetX, event.offsetY));
    canvas.addEventListener("pointermove", event => this.hover(event));
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    new ResizeObserver(() => this.tables.forEach(table => table.render())).observe(byId("side"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.retheme());
    listenToKeys(this);
  }

  // Positions

  step(direction) {
    this.goTo(this.stepping.after(direction), true);
  }

  stepBy(unit) {
    this.stepping.unit = unit;
    document.querySelector(`input[name=unit][value=${unit}]`).checked = true;
    this.say(`Steps go by ${unit}`);
  }

  goTo(position, isStep = false) {
    this.position = Math.max(0, Math.min(this.story.count, position));
    const moment = this.position > 0 ? this.story.moments[this.position - 1] : null;
    this.current = !isStep || moment === null ? null : moment >= 0 ? { row: moment, result: -1 } : { row: -1, result: this.story.changes.result[~moment] };
    const slider = byId("position"), text = positionWords(this.story, this.position);
    slider.value = this.position;
    slider.setAttribute("aria-valuetext", text);
    byId("where").textContent = text;
    byId("of").textContent = `${this.position.toLocaleString("en")} of ${this.story.count.toLocaleString("en")}`;
    if (this.selected && this.atOf(this.selected) >= this.position) this.select(null);
    if (isStep && moment !== null) this.reach(moment >= 0 ? { kind: "row", number: moment } : { kind: "change", number: ~moment });
    if (isStep) this.say(moment === null ? text : `${text}. ${this.summary(moment)}`);
    this.setFocus();
    if (this.selected) this.details.show(this.selected);
    this.update();
  }

  summary(moment) {
    return (moment >= 0 ? rowWords(this.story, moment) : changeWords(this.story, ~moment)).filter(Boolean).join(", ");
  }

  atOf({ kind, number }) { return (kind === "row" ? this.story.rows : this.story.changes).at[number]; }

  selectCurrent() {
    if (this.position === 0) return;
    const moment = this.story.moments[this.position - 1];
    this.select(moment >= 0 ? { kind: "row", number: moment } : { kind: "change", number: ~moment }, true);
  }

  // Selection

  select(selected, isToBeSeen = false) {
    this.selected = selected;
    this.setFocus();
    this.details.show(selected);
    byId("side").classList.toggle("has-selection", selected !== null);
    if (selected && isToBeSeen) this.reach(selected, true);
    for (const table of this.tables) {
      if (selected && (table.kind === "rows") === (selected.kind === "row")) table.reach(selected.number);
      table.render();
    }
    this.redraw();
  }

  /** What is lit, and which part each of it has: the causes of a result, or what a row caused. */
  setFocus() {
    const { selected, story } = this;
    this.focus = null;
    if (!selected) return;
    const rows = new Map(), results = new Map();
    if (selected.kind === "change") {
      for (const role of ["trigger", "bounds", "members"]) for (const row of story.changes[role].at(selected.number)) this.light(rows, row, role);
      results.set(story.changes.result[selected.number], "self");
    } else {
      for (const [number, role] of story.causedBy(selected.number)) results.set(story.changes.result[number], role);
      this.light(rows, selected.number, "self");
    }
    this.focus = { kind: selected.kind, rows, results };
  }

  /** Light a row, and the event that it changes. */
  light(rows, row, role) {
    rows.set(row, role);
    if (this.story.rows.kind[row] === CHANGE) rows.set(this.story.rows.event[row], role);
  }

  reach({ kind, number }, withCauses = false) {
    const { story, sight, bands } = this, { rows, changes } = story;
    if (kind === "row") {
      const event = rows.kind[number] === CHANGE ? rows.event[number] : number, [from, to] = sight.range();
      sight.reach(rows.from[event], Math.min(rows.to[event], rows.from[event] + (to - from) / 3), [bands.middleOfRow(story, number)]);
      return;
    }
    let low = Math.max(changes.from[number], 0), high = Math.min(changes.to[number], story.length);
    const heights = [bands.middleOfResult(story, changes.result[number])];
    for (const row of withCauses ? changes.members.at(number).subarray(0, 1000) : []) {
      low = Math.min(low, rows.from[row]);
      high = Math.max(high, Math.min(rows.from[row] + 1, story.length));
      heights.push(bands.middleOfRow(story, row));
    }
    sight.reach(low, Math.max(high, low), heights, withCauses);
  }

  clicked(x, y) {
    if (this.sight.isOnBar({ offsetX: x })) return;
    const hit = this.drawing.at(x, y);
    if (hit?.kind === "crowd") {
      const at = px => this.drawing.low + (px - this.drawing.left) / this.drawing.scale, [low, high] = [at(hit.x0), at(hit.x1)];
      this.sight.show(low - (high - low), high + (high - low));
    } else this.select(hit && { kind: hit.kind, number: hit.number });
    if (hit && hit.kind !== "crowd") this.showTable(hit.kind === "row" ? "rows" : "changes");
  }

  hover(event) {
    const hit = event.pointerType === "touch" ? null : this.drawing.at(event.offsetX, event.offsetY), tip = byId("tip");
    this.drawing.canvas.style.cursor = hit ? "pointer" : "";
    tip.hidden = !hit;
    if (!hit) return;
    tip.replaceChildren(...(hit.kind === "crowd" ? [make("b", {}, `${hit.count.toLocaleString("en")} together`), make("span", {}, "zoom in to tell them apart")] : this.tipOf(hit)));
    const { width, height } = this.drawing, { offsetWidth, offsetHeight } = tip;
    tip.style.left = `${Math.max(4, Math.min(event.offsetX + 14, width - offsetWidth - 4))}px`;
    tip.style.top = `${event.offsetY + 18 + offsetHeight > height ? event.offsetY - offsetHeight - 10 : event.offsetY + 18}px`;
  }

  tipOf({ kind, number }) {
    const { story } = this, { rows } = story;
    if (kind === "change") {
      return [make("b", {}, labelsOf(story, number, this.filters.columns)[0] ?? "result"), make("span", {}, extentOfChange(story, number)),
        make("span", {}, `${story.changes.change.at(number)}, micro-batch ${story.changes.batch[number]}`)];
    }
    const fate = rows.fate.at(number);
    return [make("b", {}, `row ${number}${this.noteOf(number) ? `: ${this.noteOf(number)}` : ""}`), make("span", {}, lifetimeOfRow(story, number)),
      make("span", {}, fate === "counted" ? `${rows.change.at(number)}, micro-batch ${rows.batch[number]}` : `${FATES[fate]} ${fate}: ${rows.reason.at(number)}`.slice(0, 200))];
  }

  noteOf(row) {
    return this.story.rows.values.of(row).slice(0, 2).map(([, value]) => shortValue(value)).join(", ");
  }

  labelsOf(number) { return labelsOf(this.story, number, this.filters.columns); }

  /** How a line of a table looks, beside its words. */
  toneOf(kind, i) {
    if (kind === "row") return this.story.rows.fate.at(i) === "counted" ? "" : "off";
    return this.story.changes.change.at(i) === "retract" ? "gone" : "";
  }

  // Filters

  filter() {
    const { axis } = this.story;
    const read = id => {
      const text = byId(id).value, tick = text.trim() ? axis.parse(text) : null;
      byId(id).setAttribute("aria-invalid", String(Boolean(text.trim()) && tick === null));
      return tick;
    };
    this.filters.set({ text: this.find.value, key: byId("key").value, column: byId("column").value, low: read("low"), high: read("high") });
    if (document.activeElement === this.find) this.matches.show();
    this.resize();
    this.update();
  }

  clear() {
    for (const id of ["find", "key", "column", "low", "high"]) byId(id).value = "";
    this.filter();
  }

  leave() {
    if (document.activeElement?.closest("input")) document.activeElement.blur();
    else if (this.selected) this.select(null);
    else if (this.filters.isOn) this.clear();
  }

  // The look

  showTable(kind, isFocused = false) {
    this.shownTable = kind;
    for (const tab of document.querySelectorAll("[role=tab]")) {
      const isShown = tab.dataset.table === kind;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      if (isShown && isFocused) tab.focus();
      byId(`table-${tab.dataset.table}`).hidden = !isShown;
    }
    for (const table of this.tables) table.render();
  }

  update() {
    for (const table of this.tables) {
      table.update();
      byId(`count-${table.kind}`).textContent = table.list.length.toLocaleString("en");
    }
    byId("clear").hidden = !this.filters.isOn;
    byId("empty").hidden = this.filters.shown.length > 0;
    this.redraw();
  }

  resize() {
    if (!this.drawing.canvas.clientWidth || !this.drawing.ink) return;
    this.drawing.resize();
    this.bands = new Bands(this.story, this.filters, this.drawing.left > 0);
    this.overview.resize(this.drawing.left);
    this.sight.fit(this.drawing.left, this.drawing.width, this.drawing.height - TOP, this.bands.height);
    this.redraw();
  }

  redraw() {
    if (this.isAwaited || !this.bands) return;
    this.isAwaited = true;
    requestAnimationFrame(() => {
      this.isAwaited = false;
      this.drawing.draw(this);
      this.overview.draw();
    });
  }

  toggleTheme() {
    const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    this.retheme();
  }

  retheme() {
    this.drawing.retheme();
    this.redraw();
  }

  help(isWanted) {
    if (isWanted) byId("help").showModal();
    else byId("help").close();
  }

  get isHelping() { return byId("help").open; }

  say(text) { byId("said").textContent = text; }
}

const app = new App(JSON.parse(byId("story").textContent));
window.muntin = app;

if (document.documentElement.dataset.live === "true") {
  let version = null;
  const ask = async () => {
    try {
      const answer = await fetch("story", { headers: version ? { "If-None-Match": version } : {} });
      if (answer.status === 200) {
        version = answer.headers.get("ETag");
        app.show(app.chain.load(await answer.json()));
        app.goOn();
      }
      byId("live").textContent = answer.status === 503 ? (await answer.text()).split("\n")[0] : "live";
    } catch {
      byId("live").textContent = "the server has stopped";
    }
    setTimeout(ask, 2000);
  };
  byId("live").hidden = false;
  ask();
}
