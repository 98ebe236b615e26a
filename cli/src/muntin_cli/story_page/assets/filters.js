// What of the story is shown: keys, one column of the results, a stretch of the axis, text.
//
// The picture has what `seenRow` and `seenChange` say, and fades what the text leaves out, as causes may be among it;
// `row` and `change` are what tables list and steps go to.

/** How a row or a result meets the text that is looked for, the best first. */
const EQUAL_VALUE = 0, PART_OF_VALUE = 1, OTHER_WORDS = 2, NO_MATCH = 3;

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
    this.seenRow = Uint8Array.from(rows.from, (from, i) =>
      this.hasKey[rows.key[i]] && from < high && (rows.to[i] > low || (rows.kind[i] === OTHER && from >= low)));
    this.seenChange = Uint8Array.from(changes.from, (from, i) =>
      this.hasKey[changes.key[i]] && from < high && changes.to[i] > low
      && (!this.column || changes.values.at(i, this.column) !== undefined));
    this.search();
    this.shown = story.keys.map((_, i) => i).filter(i => this.hasKey[i] && (!this.words || this.touched(i)));
  }

  /** Find what the text is in. A number is in many windows and times, so it means a value wherever one has it. */
  search() {
    this.words = this.text.toLowerCase().trim();
    if (!this.words) {
      this.row = this.seenRow;
      this.change = this.seenChange;
      return;
    }
    this.rowRanks = this.seenRow.map((isSeen, i) => (isSeen ? this.rank("rows", i) : NO_MATCH));
    this.changeRanks = this.seenChange.map((isSeen, i) => (isSeen ? this.rank("changes", i) : NO_MATCH));
    const isNumber = Number.isFinite(Number(this.words));
    const hasValue = isNumber && [this.rowRanks, this.changeRanks].some(ranks => ranks.some(rank => rank <= PART_OF_VALUE));
    const worst = hasValue ? PART_OF_VALUE : OTHER_WORDS;
    this.row = this.rowRanks.map(rank => rank <= worst);
    this.change = this.changeRanks.map(rank => rank <= worst);
  }

  /** How a row or a change meets the text. */
  rank(kind, i) {
    if (!this.textOf(kind, i).includes(this.words)) return NO_MATCH;
    const values = this.story[kind].values.of(i).flatMap(([, value]) => [spellValue(value), fullValue(value)]).map(value => value.toLowerCase());
    if (values.includes(this.words)) return EQUAL_VALUE;
    return values.some(value => value.includes(this.words)) ? PART_OF_VALUE : OTHER_WORDS;
  }

  /** What the text finds among all that has come at a position: the best first, results before rows. */
  matches(position) {
    if (!this.words) return [];
    const { rows, changes } = this.story, found = [];
    this.change.forEach((is, number) => { if (is && changes.at[number] < position) found.push({ kind: "change", number, rank: this.changeRanks[number] }); });
    this.row.forEach((is, number) => { if (is && rows.at[number] < position) found.push({ kind: "row", number, rank: this.rowRanks[number] }); });
    return found.sort((one, other) => one.rank - other.rank); // the sort keeps the order of equal ranks
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
