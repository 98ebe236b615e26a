// The whole axis in a strip: where rows are, and which part of it the picture shows.

class Overview {
  constructor(canvas, app) {
    Object.assign(this, { canvas, app, pen: canvas.getContext("2d") });
    const move = event => {
      const box = canvas.getBoundingClientRect(), [low, high] = app.sight.range(), [from, to] = app.sight.whole;
      const at = from + ((event.clientX - box.left - this.left) / (box.width - this.left)) * (to - from);
      app.sight.show(at - (high - low) / 2, at + (high - low) / 2, false);
    };
    canvas.addEventListener("pointerdown", event => { canvas.setPointerCapture(event.pointerId); move(event); });
    canvas.addEventListener("pointermove", event => { if (event.buttons) move(event); });
  }

  resize(left) {
    const ratio = window.devicePixelRatio || 1;
    Object.assign(this, { left, ratio, width: this.canvas.clientWidth, height: this.canvas.clientHeight, counted: null });
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
  }

  /** How many rows start in each stretch of two pixels. */
  count() {
    const { app, left, width } = this, { rows } = app.story, [from, to] = app.sight.whole;
    const counts = new Uint32Array(Math.ceil((width - left) / 2)), scale = counts.length / (to - from);
    const shown = app.filters.seenRow;
    for (let i = 0; i < rows.count; i++) {
      if (rows.at[i] < app.position && shown[i]) counts[Math.floor((rows.from[i] - from) * scale)]++;
    }
    this.counted = { counts, position: app.position, shown };
  }

  draw() {
    const { app, pen, left, width, height } = this, { ink } = app.drawing, [from, to] = app.sight.whole;
    if (this.counted?.position !== app.position || this.counted.shown !== app.filters.seenRow) this.count();
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.fillStyle = ink.paper;
    pen.fillRect(0, 0, width, height);
    const { counts } = this.counted, most = counts.reduce((a, b) => Math.max(a, b), 1), x = at => left + ((at - from) / (to - from)) * (width - left);
    pen.fillStyle = ink.event;
    pen.globalAlpha = 0.65;
    counts.forEach((count, i) => {
      const tall = count ? 2 + (height - 8) * Math.sqrt(count / most) : 0;
      if (tall) pen.fillRect(left + 2 * i, height - 2 - tall, 2, tall);
    });
    pen.globalAlpha = 1;
    const { watermark } = app.drawing;
    if (Number.isFinite(watermark)) line(pen, x(watermark), 0, x(watermark), height, ink.mark, 1.5);
    const [low, high] = app.sight.range(), [x0, x1] = [Math.max(left, x(low)), Math.min(width, x(high))];
    pen.fillStyle = ink.soft;
    pen.globalAlpha = 0.12;
    pen.fillRect(left, 0, x0 - left, height);
    pen.fillRect(x1, 0, width - x1, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = ink.soft;
    pen.strokeRect(x0 + 0.5, 0.5, Math.max(3, x1 - x0 - 1), height - 1);
  }
}
