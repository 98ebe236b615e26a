// Steps through the story: to the next row, micro-batch or result, and back; those that filters leave out are passed over.

class Stepping {
  constructor(app) {
    this.app = app;
    this.unit = "row";
  }

  /** The position after a step from the present one. */
  after(direction) {
    const { story, position } = this.app;
    if (this.unit === "batch") return this.batchAfter(direction);
    const isWanted = at => {
      const moment = story.moments[at], { filters } = this.app;
      return this.unit === "row" ? moment >= 0 && filters.row[moment] : moment < 0 && filters.change[~moment];
    };
    if (direction > 0) {
      for (let at = position; at < story.count; at++) if (isWanted(at)) return at + 1;
      return story.count;
    }
    for (let at = position - 2; at >= 0; at--) if (isWanted(at)) return at + 1;
    return 0;
  }

  batchAfter(direction) {
    const { story, position } = this.app, { end } = story.batches;
    if (direction > 0) return end[d3.bisectRight(end, position)] ?? story.count;
    return end[d3.bisectLeft(end, position) - 1] ?? 0;
  }
}
