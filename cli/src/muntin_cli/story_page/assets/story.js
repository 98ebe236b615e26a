// The story: its rows and changes of results in the order in which they came, and what is so at a position.

const EVENT = 0, CHANGE = 1, OTHER = 2;

class Story {
  constructor(data) {
    this.title = data.title;
    this.plan = data.plan;
    this.notes = data.notes;
    this.keyNames = data.key_names;
    this.keys = data.keys.map(parts => (parts === null ? "all keys" : parts.join(" · ") || "no key"));
    this.axis = new Axis(data.axis);
    this.rows = this.readRows(data.rows);
    this.changes = this.readChanges(data.changes);
    this.batches = this.readBatches(data.batches);
    this.measure();
    this.order();
    this.link();
  }

  readRows(packed) {
    const rows = {
      batch: new Integers(packed.batch).small(), key: new Integers(packed.key).small(),
      kind: new Integers(packed.kind).small(), lane: new Integers(packed.lane).small(),
      event: new Integers(packed.event).small(),
      start: new Integers(packed.start), end: new Integers(packed.end), newEnd: new Integers(packed.new_end),
      origin: packed.origin ? new Integers(packed.origin).small() : [],
      originChange: packed.origin ? new Integers(packed.origin_change).small() : [],
      waitsFor: new Integers(packed.waits_for), values: new Values(packed.values),
    };
    for (const name of ["change", "input", "source", "fate", "reason"]) rows[name] = new Words(packed[name]);
    rows.count = rows.batch.length;
    return rows;
  }

  readChanges(packed) {
    const changes = {
      batch: new Integers(packed.batch).small(), key: new Integers(packed.key).small(),
      lane: new Integers(packed.lane).small(), hiddenBy: new Integers(packed.hidden_by).small(), result: new Integers(packed.result).small(),
      firing: new Integers(packed.firing).small(), isEarly: new Integers(packed.is_early).small(),
      start: new Integers(packed.start), end: new Integers(packed.end), newEnd: new Integers(packed.new_end),
      windowStart: new Integers(packed.window_start), windowEnd: new Integers(packed.window_end),
      change: new Words(packed.change), windowName: new Words(packed.window_name), values: new Values(packed.values),
      members: new Lists(packed.members), bounds: new Lists(packed.bounds), trigger: new Lists(packed.trigger),
    };
    changes.count = changes.batch.length;
    return changes;
  }

  readBatches(packed) {
    const batches = {
      number: new Integers(packed.number).small(), run: new Integers(packed.run).small(),
      watermark: new Integers(packed.watermark), newest: new Integers(packed.newest), heldBy: new Words(packed.held_by),
    };
    batches.count = batches.number.length;
    return batches;
  }

  /** Places on the axis as distances from the first one, which are numbers to compute with. */
  measure() {
    const { rows, changes, batches, axis } = this;
    const columns = [rows.start, rows.end, rows.newEnd, changes.windowStart, changes.windowEnd, batches.newest];
    const ends = columns.flatMap(column => column.extent());
    const low = ends.reduce((a, b) => (a < b ? a : b), ends[0] ?? 0n), high = ends.reduce((a, b) => (a > b ? a : b), low);
    axis.within(low, high);
    this.origin = low;
    this.length = Math.max(1, Number(high - low));
    rows.from = rows.start.distances(low);
    rows.to = rows.end.distances(low);
    rows.changedTo = rows.newEnd.distances(low);
    for (let i = 0; i < rows.count; i++) if (Number.isNaN(rows.to[i])) rows.to[i] = rows.from[i] + 1;
    batches.watermarkAt = batches.watermark.distances(low);
    batches.newestAt = batches.newest.distances(low);
    const [from, to] = [changes.windowStart.distances(low), changes.windowEnd.distances(low)];
    const [start, end] = [changes.start.distances(low), changes.end.distances(low)];
    changes.from = from.map((at, i) => (Number.isNaN(at) ? start[i] : at));
    changes.to = to.map((at, i) => (Number.isNaN(at) ? (Number.isNaN(end[i]) ? start[i] + 1 : end[i]) : at));
    changes.lifeFrom = start;
    changes.lifeTo = end;
  }

  /** Put rows and changes into one order: those of a micro-batch's rows, then the changes that it made. */
  order() {
    const { rows, changes, batches } = this;
    this.count = rows.count + changes.count;
    this.moments = new Int32Array(this.count);
    rows.at = new Int32Array(rows.count);
    changes.at = new Int32Array(changes.count);
    batches.rowsEnd = new Int32Array(batches.count);
    batches.end = new Int32Array(batches.count);
    let row = 0, change = 0, at = 0;
    for (let b = 0; b < batches.count; b++) {
      const isLast = b === batches.count - 1;
      while (row < rows.count && (isLast || rows.batch[row] <= batches.number[b])) {
        rows.at[row] = at;
        this.moments[at++] = row++;
      }
      batches.rowsEnd[b] = at;
      while (change < changes.count && (isLast || changes.batch[change] <= batches.number[b])) {
        changes.at[change] = at;
        this.moments[at++] = ~change++;
      }
      batches.end[b] = at;
    }
    this.count = at;
  }

  /** Find what changes what, and what lies where. */
  link() {
    const { rows, changes } = this;
    this.changesOfEvent = new Map();
    rows.furthest = rows.to.slice();
    for (let i = 0; i < rows.count; i++) {
      if (rows.kind[i] !== CHANGE) continue;
      push(this.changesOfEvent, rows.event[i], i);
      if (rows.changedTo[i] > rows.furthest[rows.event[i]]) rows.furthest[rows.event[i]] = rows.changedTo[i];
    }
    this.changesOfResult = new Map();
    for (let i = 0; i < changes.count; i++) push(this.changesOfResult, changes.result[i], i);
    this.bandOfKey = this.keys.map(() => ({ lanes: [], others: [], windows: new Map() }));
    for (let i = 0; i < rows.count; i++) {
      const band = this.bandOfKey[rows.key[i]];
      if (rows.kind[i] === EVENT) (band.lanes[rows.lane[i]] ??= []).push(i);
      else if (rows.kind[i] === OTHER) band.others.push(i);
      if (Number.isNaN(rows.from[i])) rows.from[i] = this.placeOf(i);
    }
    for (const number of this.changesOfResult.keys()) {
      const { windows } = this.bandOfKey[changes.key[number]], name = changes.windowName.at(number);
      if (!windows.has(name)) windows.set(name, []);
      (windows.get(name)[changes.lane[number]] ??= []).push(number);
    }
    for (const band of this.bandOfKey) this.sortBand(band);
  }

  sortBand(band) {
    const { rows, changes } = this;
    const sorted = (found, from) => Int32Array.from(found ?? []).sort((a, b) => from[a] - from[b] || a - b);
    band.lanes = Array.from(band.lanes, lane => laneOf(sorted(lane, rows.from), rows.furthest));
    band.inputs = band.lanes.map(({ bars }) => rows.input.at(bars[0]));
    band.others = laneOf(sorted(band.others, rows.from), rows.from);
    for (const [name, lanes] of band.windows) band.windows.set(name, Array.from(lanes, lane => laneOf(sorted(lane, changes.from), changes.to)));
  }

  /** A row whose time cannot be read lies where the stream is when it comes. */
  placeOf(row) {
    const at = this.batches.newestAt[this.batchAt(this.rows.at[row] + 1, true)];
    return Number.isFinite(at) ? at : 0;
  }

  /** The index of the micro-batch at a position: the last one that has begun, or whose rows have all come. */
  batchAt(position, hasBegun = false) {
    if (hasBegun) return Math.min(this.batches.count - 1, d3.bisectLeft(this.batches.end, position));
    return d3.bisectRight(this.batches.rowsEnd, position) - 1;
  }

  /** The end of an event at a position, and the last row that changed it. */
  eventAt(row, position) {
    let end = this.rows.to[row], last = -1;
    for (const change of this.changesOfEvent.get(row) ?? []) {
      if (this.rows.at[change] >= position) break;
      last = change;
      if (!Number.isNaN(this.rows.changedTo[change])) end = this.rows.changedTo[change];
      else if (this.rows.change.at(change) === "retract") end = this.rows.from[row];
    }
    return { end, last, isGone: last >= 0 && (end <= this.rows.from[row] || this.rows.change.at(last) === "retract") };
  }

  /** The last change of a result at a position, and how many there have been. */
  resultAt(number, position) {
    let last = number, count = 0;
    for (const change of this.changesOfResult.get(number)) {
      if (this.changes.at[change] >= position) break;
      last = change;
      count++;
    }
    return { last, count, isGone: this.changes.change.at(last) === "retract" };
  }

  /** The changes that a row is in, each with the part that it has. */
  causedBy(row) {
    this.causes ??= this.invert();
    return this.causes.get(row) ?? [];
  }

  invert() {
    const causes = new Map();
    for (const role of ["members", "bounds", "trigger"]) {
      const lists = this.changes[role];
      for (let i = 0; i < this.changes.count; i++) for (const row of lists.at(i)) push(causes, row, [i, role]);
    }
    for (const found of causes.values()) found.sort((a, b) => a[0] - b[0]);
    return causes;
  }

  /** The tick at a distance from the first one. */
  tick(distance) { return this.origin + BigInt(Math.round(distance)); }
}

function push(map, key, value) {
  const found = map.get(key);
  if (found) found.push(value);
  else map.set(key, [value]);
}

/** Bars in the order of their starts, and how far those up to each reach, by which the first one in sight is found. */
function laneOf(bars, to) {
  const reach = new Float64Array(bars.length);
  bars.forEach((bar, i) => { reach[i] = Math.max(i ? reach[i - 1] : -Infinity, to[bar]); });
  return { bars, reach };
}
