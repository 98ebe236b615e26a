// The part of the story in sight: zoomed and moved along the axis by D3, and scrolled from band to band.

const BAR = 14;
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

class Sight {
  constructor(canvas, redraw) {
    this.canvas = d3.select(canvas);
    this.redraw = redraw;
    this.transform = d3.zoomIdentity;
    this.y = 0;
    this.zoom = d3.zoom()
      .filter(event => (event.type === "wheel" ? event.ctrlKey || event.metaKey || !this.overflow : !event.button && !this.isOnBar(event)))
      .on("zoom", event => this.moved(event));
    this.canvas.call(this.zoom);
    canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    this.scrollByBar(canvas);
  }

  isOnBar(event) { return this.overflow > 0 && event.offsetX > this.width - BAR; }

  /** Where the bar at the right edge is, and how long: it shows which of the bands are in sight. */
  bar() {
    const length = Math.max(24, (this.height * this.height) / this.content);
    return [(this.y / this.overflow) * (this.height - length), length];
  }

  scrollByBar(canvas) {
    let grip = null;
    canvas.addEventListener("pointerdown", event => {
      if (!this.isOnBar(event)) return;
      const [top, length] = this.bar(), at = event.offsetY - TOP;
      grip = at >= top && at <= top + length ? at - top : length / 2;
      canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    const drag = event => {
      if (grip !== null) this.scrollTo(((event.offsetY - TOP - grip) / (this.height - this.bar()[1])) * this.overflow);
    };
    canvas.addEventListener("pointermove", drag);
    canvas.addEventListener("pointerup", () => { grip = null; });
  }

  /** Let the whole axis be that of a story, with a little room on both sides; who looks at a part of it keeps it. */
  over(story) {
    const isPart = this.base && Math.abs(this.transform.k - 1) > 0.01;
    this.kept = isPart ? this.range().map(at => at + Number(this.story.origin - story.origin)) : null;
    this.story = story;
    const room = story.length * 0.02;
    this.whole = [-room, story.length + room];
    this.kept ??= this.whole;
  }

  /** Take the size of the picture, and keep what is in sight. */
  fit(left, width, height, content) {
    const range = this.kept ?? this.range();
    this.kept = null;
    Object.assign(this, { left, width, height, content });
    this.base = d3.scaleLinear(this.whole, [left, width]);
    const closest = Math.max(1, ((this.whole[1] - this.whole[0]) / (width - left)) * 60);
    this.zoom.extent([[left, 0], [width, height]]).scaleExtent([0.5, closest]);
    this.scrollTo(this.y);
    this.show(...range, false);
  }

  get overflow() { return Math.max(0, this.content - this.height); }

  range() { return this.transform.rescaleX(this.base).domain(); }

  moved(event) {
    const isDrag = event.sourceEvent && event.transform.k === this.transform.k && event.sourceEvent.type !== "wheel";
    if (isDrag) this.scrollTo(this.y - (event.transform.y - this.transform.y));
    this.transform = event.transform;
    this.redraw();
  }

  wheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) return;
    const [across, down] = event.shiftKey ? [event.deltaY || event.deltaX, 0] : [event.deltaX, event.deltaY];
    if (across) this.canvas.call(this.zoom.translateBy, -across / this.transform.k, 0);
    if (down && this.overflow) this.scrollTo(this.y + down);
    this.redraw();
  }

  scrollTo(y) {
    this.y = Math.max(0, Math.min(this.overflow, y));
    this.redraw();
  }

  /** Show a stretch of the axis. */
  show(low, high, isSmooth = true) {
    const k = (this.width - this.left) / Math.max(1e-9, this.base(high) - this.base(low));
    const target = d3.zoomIdentity.translate(this.left - k * this.base(low), this.transform.y).scale(k);
    const canvas = isSmooth && !isCalm.matches ? this.canvas.transition().duration(200) : this.canvas.interrupt();
    canvas.call(this.zoom.transform, target);
  }

  showAll() { this.show(...this.whole); }

  by(factor) { this.canvas.interrupt().call(this.zoom.scaleBy, factor); }

  pan(share) { this.canvas.interrupt().call(this.zoom.translateBy, (-share * (this.width - this.left)) / this.transform.k, 0); }

  /** Bring a stretch of the axis and some heights into sight, close enough to read; what is in sight already is left as it is. */
  reach(low, high, heights, isClose = false) {
    const [from, to] = this.range(), size = to - from, room = (high - low) * 0.15 + (isClose ? 0 : size * 0.02);
    if (low < from || high > to || high - low < size / (isClose ? 15 : 400)) {
      const wanted = Math.max(high - low + 2 * room, Math.min(size, (high - low || 1) * (isClose ? 5 : 12)));
      const middle = (low + high) / 2;
      this.show(middle - wanted / 2, middle + wanted / 2);
    }
    const known = heights.filter(y => y !== null);
    if (!known.length) return;
    const [bottom, top] = [Math.max(...known), Math.min(...known)];
    if (top >= this.y + 14 && bottom <= this.y + this.height - 20) return;
    const fits = bottom - top < this.height - 60;
    this.scrollTo(fits ? (top + bottom - this.height) / 2 : known[0] - this.height * 0.7);
  }
}
