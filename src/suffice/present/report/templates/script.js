(function () {
  "use strict";
  var root = document.documentElement, key = "suffice-theme";
  function all(where, words) { return Array.from(where.querySelectorAll(words)); }
  function at(id) { return document.getElementById(id); }
  function made(tag, text, owner) {
    var e = document.createElement(tag);
    e.textContent = text;
    owner.appendChild(e);
    return e;
  }
  root.classList.add("js");

  // light and dark
  function kept() { try { return localStorage.getItem(key); } catch (e) { return null; } }
  function keep(v) { try { localStorage.setItem(key, v); } catch (e) { return; } }
  function dark() {
    var t = root.dataset.theme;
    return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  if (kept()) { root.dataset.theme = kept(); }
  at("theme").addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    keep(root.dataset.theme);
  });

  // code to copy
  all(document, "button.copy").forEach(function (b) {
    b.addEventListener("click", function () {
      var text = b.parentNode.querySelector("code").textContent;
      function done() { b.textContent = "copied"; setTimeout(function () { b.textContent = "copy"; }, 1500); }
      if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, function () {}); }
    });
  });

  // the section that is read
  var links = {};
  all(document, "nav a").forEach(function (a) { links[a.hash.slice(1)] = a; });
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (e) {
      if (e.isIntersecting && links[e.target.id]) {
        var link = links[e.target.id], list = link.closest("ol");
        Object.keys(links).forEach(function (k) { links[k].removeAttribute("aria-current"); });
        link.setAttribute("aria-current", "true");
        list.scrollLeft += link.getBoundingClientRect().left - list.getBoundingClientRect().left - 32;
      }
    });
  }, { rootMargin: "-10% 0px -75% 0px" });
  all(document, "section[id]").forEach(function (s) { seen.observe(s); });

  // values under the pointer
  var tip = at("tip");
  function tell(e) {
    var on = e.target.closest && e.target.closest("[data-tip]");
    tip.hidden = !on;
    if (!on) { return; }
    tip.textContent = on.dataset.tip;
    tip.style.left = Math.max(4, Math.min(e.clientX + 12, root.clientWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top = (e.clientY + tip.offsetHeight + 24 > innerHeight ? e.clientY - tip.offsetHeight - 10 : e.clientY + 16) + "px";
  }
  ["pointermove", "pointerdown"].forEach(function (kind) { document.addEventListener(kind, tell); });

  // a row that is selected in one place is selected everywhere
  function select(name) {
    all(document, "[data-row]").forEach(function (e) {
      var is = e.dataset.row === name && !e.classList.contains("picked");
      e.classList.toggle("picked", is);
      if (is && e.tagName === "use") { e.parentNode.appendChild(e); }
      if (e.tagName === "TR") { e.setAttribute("aria-selected", is); }
    });
  }
  document.addEventListener("click", function (e) {
    var on = e.target.closest && e.target.closest("[data-row]");
    if (on) { select(on.dataset.row); }
  });
  all(document, "tr[data-row]").forEach(function (row) {
    row.tabIndex = 0;
    row.addEventListener("keydown", function (e) {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); select(row.dataset.row); }
    });
  });

  // tables that are sorted by any column, and filtered by what is typed
  function value(row, j) {
    var cell = row.cells[j];
    return "value" in cell.dataset ? parseFloat(cell.dataset.value) : cell.textContent;
  }
  function order(a, b) {
    if (typeof a === "number" && typeof b === "number") {
      return isNaN(a) - isNaN(b) || a - b;
    }
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  }
  all(document, "table.data").forEach(function (table) {
    var body = table.tBodies[0], heads = all(table, "thead th");
    if (body.rows.length < 2) { return; }
    heads.forEach(function (head, j) {
      if (!head.textContent) { return; }
      var button = made("button", "", head);
      while (head.firstChild !== button) { button.appendChild(head.firstChild); }
      button.addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(function (h) { h.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        Array.from(body.rows).sort(function (a, b) {
          return (down ? -1 : 1) * order(value(a, j), value(b, j));
        }).forEach(function (row) { body.appendChild(row); });
      });
    });
    if (body.rows.length < 10) { return; }
    var box = document.createElement("input"), around = table.closest(".scroll");
    box.type = "search";
    box.placeholder = "filter rows";
    box.className = "filter";
    box.setAttribute("aria-label", "filter rows of: " + around.previousElementSibling.textContent);
    around.parentNode.insertBefore(box, around);
    box.addEventListener("input", function () {
      var wanted = box.value.toLowerCase();
      Array.from(body.rows).forEach(function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(wanted) < 0;
      });
    });
  });

  // a shadow where a table goes on
  function edges() {
    all(document, ".wide").forEach(function (w) {
      w.parentNode.classList.toggle("more", w.scrollLeft + w.clientWidth < w.scrollWidth - 2);
    });
  }
  all(document, ".wide").forEach(function (w) { w.addEventListener("scroll", edges); });
  addEventListener("resize", edges);
  all(document, "details").forEach(function (d) { d.addEventListener("toggle", edges); });
  edges();

  // the threshold
  var slider = at("slider");
  if (slider) {
    var t = JSON.parse(slider.dataset.thresholds), hits = JSON.parse(slider.dataset.hits),
      alarms = JSON.parse(slider.dataset.alarms), range = at("threshold"),
      positives = +slider.dataset.positives, negatives = +slider.dataset.negatives;
    var count = function (v) { return v.toLocaleString("en", { maximumFractionDigits: 2 }); };
    var share = function (a, b) {  // as suffice.core.text.numbers.percent writes it
      var p = 100 * a / b, few = p === 0 || p === 100 ? p : p < 1e-3 ? "< 0.001" : p < .05 ? +p.toPrecision(2)
        : p < 99.95 ? p.toFixed(1) : p < 99.995 ? +p.toPrecision(4) : "> 99.99";
      return b ? few + "\u00a0%" : "–";
    };
    var cost = function (i) {
      return +at("cost-miss").value * (positives - hits[i]) + +at("cost-alarm").value * alarms[i];
    };
    var dot = function (figure, x, y) {
      var svg = document.querySelector("#f-" + figure + " svg");
      var now = svg.querySelector(".now") || svg.appendChild(
        document.createElementNS("http://www.w3.org/2000/svg", "circle"));
      now.setAttribute("class", "now");
      now.setAttribute("r", 5.5);
      now.setAttribute("cx", 54 + 374 * x);
      var top = svg.querySelector("[data-top]");
      now.setAttribute("cy", isNaN(y) ? 0 : 256 - 248 * y / (top ? +top.dataset.top : 1));
      now.setAttribute("visibility", isNaN(y) ? "hidden" : "visible");
    };
    var move = function () {
      var i = +range.value, found = hits[i], false_ = alarms[i];
      at("t-threshold").textContent = t[i] > 1 ? "more than 1" : t[i].toPrecision(3);
      range.setAttribute("aria-valuetext", t[i].toPrecision(3));
      at("t-hits").textContent = count(found);
      at("t-missed").textContent = count(positives - found);
      at("t-alarms").textContent = count(false_);
      at("t-precision").textContent = share(found, found + false_);
      at("t-recall").textContent = share(found, positives);
      at("t-cost").textContent = count(cost(i));
      dot("roc", false_ / negatives, found / positives);
      dot("precision", found / positives, found / (found + false_));  // of no rows there is none
    };
    [range, at("cost-miss"), at("cost-alarm")].forEach(function (e) { e.addEventListener("input", move); });
    at("cheapest").addEventListener("click", function () {
      var best = 0;
      for (var i = 1; i < t.length; i++) { if (cost(i) < cost(best)) { best = i; } }
      range.value = best;
      move();
    });
    move();
  }

  // figures as files, in the inks that they are shown in
  all(document, "figure svg:not(.legend svg)").forEach(function (svg) {
    var figure = svg.closest("figure"), button = made("button", "save SVG", figure);
    button.className = "save";
    button.addEventListener("click", function () {
      var copy = svg.cloneNode(true), shown = all(svg, "*"), link = document.createElement("a");
      all(copy, "*").forEach(function (e, i) {
        var look = getComputedStyle(shown[i]);
        ["fill", "stroke", "opacity", "fill-opacity", "stroke-width", "stroke-dasharray", "font"].forEach(function (p) {
          e.style.setProperty(p, look.getPropertyValue(p));
        });
      });
      copy.insertBefore(document.querySelector("defs").cloneNode(true), copy.firstChild);
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
      link.download = figure.id.slice(2) + ".svg";
      link.click();
    });
  });

  addEventListener("beforeprint", function () {
    all(document, "details").forEach(function (d) { d.open = true; });
  });
})();
