// Bars too close to tell apart, which become one with a count.

const CELL = 40;

/** Bars that are narrower than their marks, gathered while they would lie on each other. */
class Crowd {
  constructor(one, many) {
    Object.assign(this, { one, many, count: 0 });
  }

  add(x0, x1, number) {
    if (this.count && x0 < this.x1 + 1 && Math.floor(x0 / CELL) === this.cell) {
      this.count++;
      this.x1 = Math.max(this.x1, x1);
      return;
    }
    this.flush();
    Object.assign(this, { x0, x1, number, count: 1, cell: Math.floor(x0 / CELL) });
  }

  flush() {
    if (this.count === 1) this.one(this.number, this.x0, this.x1);
    else if (this.count) this.many(this.x0, Math.min(this.x1, (this.cell + 1) * CELL), this.count);
    this.count = 0;
  }
}
