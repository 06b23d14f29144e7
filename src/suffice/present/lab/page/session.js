// The state of the page: points, settings, the fitted model, scenes, and the address.
import { range, sum } from "./linalg.js";
import { MODELS, errorsOf } from "./models.js";
import { N_COLOURS } from "./canvas.js";
import { Descent } from "./descent.js";
import { SCENES, START, sampled, statedModel } from "./scenes.js";

const FIRST_SCENE = "problem";
const MOST_POINTS_IN_ADDRESS = 600;
/** Parameters of an address that are not settings. */
const NOT_SETTINGS = new Set(["scene", "state", "answers", "view", "theme", "steps", "do"]);

export function find(selector) {
  return document.querySelector(selector);
}

export function findAll(selector) {
  return [...document.querySelectorAll(selector)];
}

/** Show a text under the plane. */
export function say(text) {
  find("#said").textContent = text;
}

function deepCopy(value) {
  return JSON.parse(JSON.stringify(value));
}

/** What the page currently shows. */
export const session = {
  scene: "",
  state: null, // the part that the address stores: points, model, settings
  initial: null, // the state as the scene begins
  fit: null, // the model fitted to the points, its rows and its errors
  descent: null,
  truth: null, // the model that the points were drawn from
  table: null, // the user's table, if Python serves the page
  past: [], // points before each change
  brush: 0, // the class to paint; −1 erases, −2 drags means and ellipses
  hovered: null, // a point
  chosen: null, // a point
  cursor: null, // a place in the plane
  askPython: null, // the function that lets Python fit a model
  answers: {}, // the given answer to each scene's question
  leftOut: null, // { fit, wrong }: the leave-one-out error of a fit
};

// ---- changes

const listeners = [];
let frame = 0;

/** Register a function that is called before each frame in which the session has changed. */
export function onChange(listener) {
  listeners.push(listener);
}

/** Call the listeners once, before the next frame. */
export function repaint() {
  if (frame !== 0) {
    return;
  }
  frame = requestAnimationFrame(() => {
    frame = 0;
    for (const listener of listeners) {
      listener();
    }
  });
}

/** Change the state, fit the model again, repaint, and store the state in the address. */
export function change(patch, keepInAddress = true) {
  Object.assign(session.state, patch);
  refit();
  repaint();
  if (keepInAddress) {
    remember();
  }
}

/** Fit the model to all classes that have points. */
function refit() {
  const { state } = session;
  const present = range(N_COLOURS).filter((k) => state.points.some((point) => point[2] === k));
  const ofPresent = (values) => present.map((k) => values[k]);
  const fit = {
    x: state.points.map((point) => point.slice(0, state.dimension)),
    y: state.points.map((point) => present.indexOf(point[2])),
    K: present.length,
    present,
    rule: {
      temperature: state.temperature,
      costs: ofPresent(state.costs),
      reject: state.reject < 1 ? state.reject : null,
    },
    model: null,
  };
  session.fit = fit;
  const { remote, fit: fitModel } = MODELS[state.model];
  if (fit.K > 1 && remote) {
    session.askPython(fit);
  } else if (fit.K > 1) {
    fit.settings = settingsOf(present);
    setModel(fit, fitModel(fit.x, fit.y, fit.K, fit.settings));
  }
  restartDescent();
}

/** Return the settings of the model, restricted to the classes that have points. */
function settingsOf(present) {
  const { state } = session;
  const ofPresent = (values) => present.map((k) => values[k]);
  const priors = state.stated ? normalised(ofPresent(state.priors)) : null;
  return { ...state, priors, tied: ofPresent(state.tied) };
}

/** Return weights scaled to sum to one; null if all are zero. */
function normalised(weights) {
  const total = sum(weights);
  return total > 0 ? weights.map((weight) => weight / total) : null;
}

/** Set the fitted model, and count its errors. */
export function setModel(fit, model) {
  fit.model = model;
  Object.assign(fit, errorsOf(model, fit.x, fit.y, fit.rule));
}

export function restartDescent() {
  const { state, fit } = session;
  session.descent = null;
  if (state.descent && fit.K > 1) {
    session.descent = new Descent(fit.x, fit.y, state.descent);
  }
}

// ---- the address

/** Write all differences from the scene into the address, except the points of a table. */
export function remember() {
  const { state, initial, scene, table } = session;
  const changes = {};
  for (const [key, value] of Object.entries(state)) {
    if (JSON.stringify(value) !== JSON.stringify(initial[key])) {
      changes[key] = value;
    }
  }
  if (table || state.points.length > MOST_POINTS_IN_ADDRESS) {
    delete changes.points;
  }
  let address = `#scene=${scene}`;
  if (Object.keys(changes).length > 0) {
    address += `&state=${encodeURIComponent(JSON.stringify(changes))}`;
  }
  if (Object.keys(session.answers).length > 0) {
    address += `&answers=${encodeURIComponent(JSON.stringify(session.answers))}`;
  }
  try {
    history.replaceState(null, "", address);
  } catch {
    // a page in a frame may be forbidden to change its address
  }
}

/** Open the state of the address, which may also name single settings, as in "k=15". */
export function openAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const scene = parameters.get("scene") || FIRST_SCENE;
  showAs(parameters.get("view"), parameters.get("theme"));
  try {
    session.answers = checkedAnswers(JSON.parse(parameters.get("answers") || "{}"));
    const changes = JSON.parse(parameters.get("state") || "{}");
    openScene(scene, { ...changes, ...namedSettings(scene, parameters) });
  } catch {
    openScene(scene);
    say("The state in this address cannot be read: the scene is shown with its defaults.");
  }
}

/** Show the page as a framing page asks for: without the header, in a light or dark theme. */
function showAs(view, theme) {
  const root = document.documentElement;
  root.dataset.view = view === "framed" ? "framed" : "whole";
  if (theme === "light" || theme === "dark") {
    root.dataset.theme = theme;
  }
}

/** Return the changes by single settings of an address: "k=15", "priors.0=0.9", "model=qda". */
function namedSettings(scene, parameters) {
  const paths = [...parameters.keys()].filter((path) => !NOT_SETTINGS.has(path));
  if (paths.length === 0) {
    return {};
  }
  const { truth } = SCENES[scene];
  const state = initialState(SCENES[scene]);
  for (const path of paths) {
    setPart(state, path.split("."), settingOf(parameters.get(path)));
  }
  const keys = new Set(paths.map((path) => path.split(".")[0]));
  if (keys.has("priors")) {
    state.stated = true;
    keys.add("stated");
  }
  if (truth && (keys.has("n") || keys.has("seed"))) {
    state.points = sampled(statedModel(truth), state.n, state.seed);
    keys.add("points");
  }
  return Object.fromEntries([...keys].map((key) => [key, state[key]]));
}

/** Set a part of the state; throw if it does not exist. */
function setPart(state, names, value) {
  const last = names.pop();
  const part = names.reduce((parent, name) => parent[name], state);
  if (typeof part[last] !== typeof value) {
    throw new Error(`no setting ${last} of this kind`);
  }
  part[last] = value;
}

/** Return the Boolean, number or word that a text in an address means. */
function settingOf(text) {
  if (text === "true" || text === "false") {
    return text === "true";
  }
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? text : number;
}

/** Return the answers of an address, without those to questions that do not exist. */
function checkedAnswers(answers) {
  const isAnswer = ([name, i]) => Object.hasOwn(SCENES, name) && Number.isInteger(i);
  return Object.fromEntries(Object.entries(answers).filter(isAnswer));
}

/** Return the points in a link to this page; throw if it is not such a link. */
export function pointsOfLink(link) {
  const parameters = new URLSearchParams(link.slice(link.indexOf("#") + 1));
  const name = parameters.get("scene");
  if (!Object.hasOwn(SCENES, name ?? "")) {
    throw new Error("This is not a link of the lab: it has no scene.");
  }
  const initial = initialState(SCENES[name]);
  const changes = checkedChanges(initial, JSON.parse(parameters.get("state") || "{}"));
  return changes.points ?? initial.points;
}

// ---- scenes

/** Open a scene with the changes of an address. */
export function openScene(name, changes = {}) {
  const scene = Object.hasOwn(SCENES, name) ? name : FIRST_SCENE;
  const { title, text, truth } = SCENES[scene];
  const initial = initialState(SCENES[scene]);
  const state = { ...deepCopy(initial), ...checkedChanges(initial, changes) };
  if (!find(`#model [value="${CSS.escape(state.model)}"]`)) {
    // the model of the address may need Python, which does not serve this page
    state.model = initial.model;
  }
  session.scene = scene;
  session.initial = initial;
  session.state = state;
  session.truth = truth && !state.painted ? statedModel(truth) : null;
  session.table = null;
  session.chosen = null;
  session.hovered = null;
  session.cursor = null;
  session.past = [];
  find("#scene").value = scene;
  find("#title").textContent = title;
  find("#text").textContent = text;
  say("Click to paint, drag a point to move it, click it to see what each feature adds.");
  change({}, false);
}

/** Return the state in which a scene begins. */
function initialState(scene) {
  const { truth, points, n = 100, seed = 1, state } = deepCopy(scene);
  const start = deepCopy(START);
  return {
    ...start,
    n,
    seed,
    ...state,
    labels: start.labels.map((label, k) => state.labels?.[k] ?? label),
    show: { ...start.show, ...state.show },
    points: points || sampled(statedModel(truth), n, seed),
  };
}

/** Return the changes to known parts of the state; throw if a change has the wrong shape. */
function checkedChanges(initial, changes) {
  const known = {};
  for (const [key, value] of Object.entries(changes)) {
    if (key in initial || key === "painted") {
      known[key] = value;
    }
  }
  for (const [key, value] of Object.entries(known)) {
    const isSound = key === "points" ? value.every(isPoint) : hasShapeOf(key, value, initial[key]);
    if (!isSound) {
      throw new Error("not a state of this page");
    }
  }
  return known;
}

function isPoint(value) {
  return value.length === 3 && value.every(Number.isFinite) && value[2] in START.labels;
}

/** Return whether a value has the type of the initial value, and an array the same length. */
function hasShapeOf(key, value, initial) {
  if (key === "descent" || key === "painted") {
    return true;
  }
  if (Array.isArray(initial)) {
    return Array.isArray(value) && value.length === initial.length;
  }
  return !Array.isArray(value) && typeof value === typeof initial;
}
