// Models that Python fits if `suffice lab` serves the page.
import { cellCentre, range } from "./linalg.js";

/** A model given by posteriors that Python computed on n × n cells of a window and at the rows. */
export class RemoteModel {
  constructor(numbers, x, K, window, n) {
    this.numbers = numbers;
    this.K = K;
    this.window = window;
    this.n = n;
    this.hasPosterior = true;
    this.isShare = true;
    this.placeOfRow = new Map(x.map((row, i) => [String(row), n * n + i]));
  }

  scores(x, out) {
    const place = this.placeOfRow.get(String(x)) ?? this.cellOf(x);
    for (let k = 0; k < this.K; k++) {
      out[k] = this.numbers[place * this.K + k];
    }
    return out;
  }

  cellOf(x) {
    const [x0, x1, y0, y1] = this.window;
    const column = this.cellAlong(x[0], x0, x1);
    const row = this.cellAlong(x[1] ?? 0, y0, y1);
    return row * this.n + column;
  }

  cellAlong(value, low, high) {
    const cell = Math.floor(((value - low) / (high - low)) * this.n);
    return Math.min(this.n - 1, Math.max(0, cell));
  }

  boundary() {
    return null;
  }
}

/** Return the points at which Python computes posteriors: the cell centres, then the rows. */
export function pointsToPredict(x, window, n) {
  const d = x[0].length;
  const centres = range(n * n).map((cell) => cellCentre(window, n, cell).slice(0, d));
  return [...centres, ...x];
}

/** Post a request and return the answer; throw an error of the library with its message. */
export async function post(url, body) {
  const content = body instanceof Blob ? body : JSON.stringify(body);
  const answer = await fetch(url, { method: "POST", body: content });
  if (!answer.ok) {
    throw new Error(await answer.text());
  }
  const isJson = answer.headers.get("content-type")?.includes("json");
  return isJson ? answer.json() : new Float64Array(await answer.arrayBuffer());
}
