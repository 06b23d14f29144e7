// The text of a lesson drives the lab beside it: the step in view, or clicked, sets the scene.

/** Return "dark" or "light", as the page is. */
function scheme() {
  return document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
}

/** Show an address of the lab in a frame, without an entry in the history. */
function show(frame, address) {
  frame.contentWindow.location.replace(`${address}&view=framed&theme=${scheme()}`);
}

/** Let the steps of a walk drive its frame. */
function follow(walk) {
  const frame = walk.querySelector("iframe.lab");
  const steps = [...walk.querySelectorAll(".steps li")];
  const choose = (step) => {
    if (step.classList.contains("shown")) {
      return;
    }
    for (const other of steps) {
      other.classList.toggle("shown", other === step);
    }
    show(frame, step.querySelector("a").href);
  };
  const chooseInView = () => choose(stepInView(steps, frame) ?? steps[0]);
  addEventListener("scroll", () => requestAnimationFrame(chooseInView), { passive: true });
  for (const step of steps) {
    step.querySelector("a").addEventListener("click", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
        event.preventDefault();
        step.classList.remove("shown"); // so that a second click begins again
        choose(step);
      }
    });
  }
  chooseInView();
  onSchemeChange(() => show(frame, walk.querySelector(".shown a").href));
}

/** Return the last step that begins above the middle of what the frame leaves free. */
function stepInView(steps, frame) {
  const box = frame.getBoundingClientRect();
  const isBeside = steps[0].getBoundingClientRect().right <= box.left;
  const top = isBeside ? 0 : Math.max(0, box.bottom);
  const middle = (top + innerHeight) / 2;
  return steps.filter((step) => step.getBoundingClientRect().top < middle).at(-1);
}

/** Let a frame of its own follow the light or dark of the page. */
function followScheme(frame) {
  const address = frame.src;
  const repeat = () => show(frame, address);
  repeat();
  onSchemeChange(repeat);
}

function onSchemeChange(listener) {
  const observer = new MutationObserver(listener);
  observer.observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}

for (const walk of document.querySelectorAll(".walk")) {
  follow(walk);
}
for (const frame of document.querySelectorAll("iframe.lab:not(.walk iframe)")) {
  followScheme(frame);
}
