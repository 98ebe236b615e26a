// The queries of a chain: one is shown at a time, and a row leads to the result that it is, a result to the rows it became.

class Chain {
  constructor(app, choice) {
    Object.assign(this, { app, choice, stories: [], place: 0 });
    choice.addEventListener("change", () => this.show(Number(choice.value)));
  }

  /** Take the stories of all queries, each after those that it reads; the last one is shown first. */
  load(data) {
    const all = [...data.upstream, data], isNew = all.length !== this.stories.length;
    this.stories = all.map(each => new Story(each));
    if (isNew) this.place = all.length - 1;
    this.choice.replaceChildren(...this.stories.map((story, i) => make("option", { value: i }, `${i + 1} of ${all.length}: ${story.title}`)));
    this.choice.value = this.place;
    this.choice.hidden = all.length < 2;
    return this.story;
  }

  get story() { return this.stories[this.place]; }

  /** Show another query at the micro-batch that is shown, and select something of it. */
  show(place, selected = null) {
    const { app } = this, { batches } = this.story, at = this.story.batchAt(app.position, true);
    const number = app.position >= this.story.count ? Infinity : app.position > 0 && at >= 0 ? batches.number[at] : -1;
    this.place = place;
    this.choice.value = place;
    app.select(null);
    app.clear();
    app.show(this.story);
    const shown = d3.bisectRight(Array.from(this.story.batches.number), number) - 1;
    app.goOn(number === Infinity ? this.story.count : shown < 0 ? 0 : this.story.batches.end[shown]);
    if (selected && app.atOf(selected) >= app.position) app.goTo(app.atOf(selected) + 1);
    if (selected) app.select(selected, true);
  }

  /** The place of the query that a row is a result of, and the number of the change there; null if it is none. */
  originOf(row) {
    const { rows } = this.story, place = rows.origin[row];
    return place >= 0 && place < this.stories.length ? [place, rows.originChange[row]] : null;
  }

  /** The rows that a change became in the queries that read it, each as the place of the query and its number. */
  readersOf(number) {
    return this.stories.flatMap(({ rows }, place) => {
      const found = [];
      for (let i = 0; i < rows.count; i++) if (rows.origin[i] === this.place && rows.originChange[i] === number) found.push([place, i]);
      return found;
    });
  }
}
