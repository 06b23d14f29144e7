// A canvas with a window of the plane, on which lines, text, axes, marks and cells are drawn.
import { range } from "./linalg.js";

export const N_COLOURS = 5; // number of classes for which the page has colours and marks

/** Return the colours of the current theme, light or dark. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const cssValue = (name) => style.getPropertyValue(name).trim();
  const classes = range(N_COLOURS).map((k) => cssValue(`--c${k}`));
  return {
    ink: cssValue("--ink"),
    soft: cssValue("--soft"),
    line: cssValue("--line"),
    ground: cssValue("--paper"),
    classes,
    paper: channels(cssValue("--paper")),
    rgb: [...classes, cssValue("--rejected")].map(channels), // the last colour means rejection
  };
}

/** Return red, green and blue of "#rrggbb". */
function channels(hex) {
  return [1, 3, 5].map((start) => Number.parseInt(hex.slice(start, start + 2), 16));
}

const FONT = "12px system-ui, sans-serif";

/** A canvas in CSS pixels with a window [x0, x1, y0, y1] of the plane. */
export class View {
  constructor(canvas, window) {
    this.canvas = canvas;
    this.window = window;
    this.w = canvas.clientWidth;
    this.h = canvas.clientHeight;
    this.ctx = canvas.getContext("2d");
    const pixelRatio = globalThis.devicePixelRatio || 1;
    const width = Math.round(this.w * pixelRatio);
    const height = Math.round(this.h * pixelRatio);
    // setting a size clears the canvas
    if (canvas.width !== width) {
      canvas.width = width;
    }
    if (canvas.height !== height) {
      canvas.height = height;
    }
    this.ctx.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
  }

  /** Return the pixel of a coordinate. */
  px(x) {
    const [x0, x1] = this.window;
    return ((x - x0) / (x1 - x0)) * this.w;
  }

  py(y) {
    const [, , y0, y1] = this.window;
    return this.h - ((y - y0) / (y1 - y0)) * this.h;
  }

  /** Return the coordinate of a pixel. */
  x(px) {
    const [x0, x1] = this.window;
    return x0 + (px / this.w) * (x1 - x0);
  }

  y(py) {
    const [, , y0, y1] = this.window;
    return y0 + ((this.h - py) / this.h) * (y1 - y0);
  }

  line(points, colour, width = 1.5, dash = []) {
    const pixels = points.map(([x, y]) => [this.px(x), this.py(y)]);
    this.ctx.setLineDash(dash);
    this.pixelLine(pixels, colour, width);
    this.ctx.setLineDash([]);
  }

  pixelLine(pixels, colour, width) {
    const { ctx } = this;
    ctx.beginPath();
    for (const [px, py] of pixels) {
      ctx.lineTo(px, py);
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.stroke();
  }

  dot([x, y], radius, colour) {
    const { ctx } = this;
    ctx.beginPath();
    ctx.arc(this.px(x), this.py(y), radius, 0, 2 * Math.PI);
    ctx.fillStyle = colour;
    ctx.fill();
  }

  text(words, px, py, colour, align = "left") {
    const { ctx } = this;
    ctx.fillStyle = colour;
    ctx.textAlign = align;
    ctx.font = FONT;
    ctx.fillText(words, px, py);
  }

  widthOf(words) {
    this.ctx.font = FONT;
    return this.ctx.measureText(words).width;
  }

  /** Draw ticks and axis names along the lower and the left edge. */
  axes([xName, yName], look) {
    const [x0, x1, y0, y1] = this.window;
    const startOfName = this.w - 6 - this.widthOf(xName);
    for (const value of ticks(x0, x1)) {
      const px = this.px(value);
      if (px > 24 && px < startOfName - 18) {
        this.text(tickLabel(value), px, this.h - 6, look.soft, "center");
      }
    }
    this.text(xName, this.w - 6, this.h - 6, look.ink, "right");
    if (!yName) {
      return;
    }
    for (const value of ticks(y0, y1)) {
      const py = this.py(value);
      if (py > 24 && py < this.h - 24) {
        this.text(tickLabel(value), 5, py + 4, look.soft);
      }
    }
    this.text(yName, 6, 15, look.ink);
  }

  /** Fill the canvas with n × n cells; `paintCell` writes the colour and returns the opacity. */
  fillCells(n, paper, paintCell) {
    const image = new ImageData(n, n);
    const colour = [0, 0, 0];
    for (let cell = 0; cell < n * n; cell++) {
      const strength = paintCell(cell, colour);
      const row = n - 1 - Math.floor(cell / n); // rows of images begin at the top
      const pixel = 4 * (row * n + (cell % n));
      for (let c = 0; c < 3; c++) {
        image.data[pixel + c] = paper[c] + strength * (colour[c] - paper[c]);
      }
      image.data[pixel + 3] = 255;
    }
    const small = new OffscreenCanvas(n, n);
    small.getContext("2d").putImageData(image, 0, 0);
    this.ctx.drawImage(small, 0, 0, this.w, this.h);
  }
}

export function tickLabel(value) {
  return String(Number(value.toPrecision(6))).replace("-", "−");
}

/** Return about six round numbers between two ends. */
function ticks(low, high) {
  const atLeast = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const factor = [1, 2, 5, 10].find((m) => m * power >= atLeast) || 10;
  const step = factor * power;
  const first = Math.ceil(low / step);
  const last = Math.floor(high / step);
  return range(last - first + 1).map((i) => (first + i) * step);
}

const MARKS = [
  "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0",
  "M-4,-4h8v8h-8z",
  "M0,-5.6l4.9,8.4h-9.8z",
  "M0,-5.6l5.6,5.6l-5.6,5.6l-5.6,-5.6z",
  "M0,-5.2l4.9,3.6l-1.9,5.8h-6l-1.9,-5.8z",
].map((path) => new Path2D(path));

/** Draw the mark of a class: filled for points, hollow for samples, with a ring if one is given. */
export function mark(view, look, k, px, py, { size = 1, hollow = false, ring = null } = {}) {
  const { ctx } = view;
  ctx.save();
  ctx.translate(px, py);
  ctx.scale(size, size);
  ctx.fillStyle = look.classes[k];
  ctx.strokeStyle = hollow ? look.classes[k] : look.ground;
  ctx.lineWidth = 1.2;
  if (!hollow) {
    ctx.fill(MARKS[k]);
  }
  ctx.stroke(MARKS[k]);
  if (ring) {
    ctx.beginPath();
    ctx.arc(0, 0, 8.5, 0, 2 * Math.PI);
    ctx.strokeStyle = ring;
    ctx.lineWidth = 1.8;
    ctx.stroke();
  }
  ctx.restore();
}
