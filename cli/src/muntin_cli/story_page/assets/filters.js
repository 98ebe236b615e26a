// What of the story is shown: keys, one column of the results, a stretch of the axis, text.
//
// The picture has what `seenRow` and `seenChange` say, and fades what the text leaves out, as causes may be among it;
// `row` and `change` are what tables list and steps go to.

class Filters {
  constructor(story) {
    this.story = story;
    this.key = this.text = this.column = "";
    this.low = this.high = null;
    this.texts = { rows: [], changes: [] };
    this.apply();
  }

  set(wanted) {
    Object.assign(this, wanted);
    this.apply();
  }

  get isOn() { return Boolean(this.key || this.text || this.column || this.low !== null || this.high !== null); }

  apply() {
    const { story } = this, { rows, changes } = story;
    const key = this.key.toLowerCase(), exact = story.keys.findIndex(name => name.toLowerCase() === key);
    this.hasKey = story.keys.map((name, i) => !key || (exact >= 0 ? i === exact : name.toLowerCase().includes(key)));
    const low = this.low === null ? -Infinity : Number(this.low - story.origin);
    const high = this.high === null ? Infinity : Number(this.high - story.origin);
    const text = this.text.toLowerCase().trim();
    this.seenRow = Uint8Array.from(rows.from, (from, i) =>
      this.hasKey[rows.key[i]] && from < high && (rows.to[i] > low || (rows.kind[i] === OTHER && from >= low)));
    this.seenChange = Uint8Array.from(changes.from, (from, i) =>
      this.hasKey[changes.key[i]] && from < high && changes.to[i] > low
      && (!this.column || changes.values.at(i, this.column) !== undefined));
    this.row = text ? this.seenRow.map((is, i) => is && this.textOf("rows", i).includes(text)) : this.seenRow;
    this.change = text ? this.seenChange.map((is, i) => is && this.textOf("changes", i).includes(text)) : this.seenChange;
    this.shown = story.keys.map((_, i) => i).filter(i => this.hasKey[i] && (!text || this.touched(i)));
  }

  /** Whether a key has a row or a result that is shown. */
  touched(key) {
    if (this.touchedFor !== this.row) {
      this.touchedFor = this.row;
      this.touchedKeys = new Set();
      this.row.forEach((is, i) => is && this.touchedKeys.add(this.story.rows.key[i]));
      this.change.forEach((is, i) => is && this.touchedKeys.add(this.story.changes.key[i]));
    }
    return this.touchedKeys.has(key);
  }

  textOf(kind, i) {
    return (this.texts[kind][i] ??= (kind === "rows" ? rowWords(this.story, i) : changeWords(this.story, i)).join(" ").toLowerCase());
  }

  /** The columns of results to show. */
  get columns() { return this.column ? [this.column] : this.story.changes.values.names; }
}
