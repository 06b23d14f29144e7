(function () {
  var root = document.documentElement, key = "suffice-theme";
  function kept() { try { return localStorage.getItem(key); } catch (e) { return null; } }
  function keep(v) { try { localStorage.setItem(key, v); } catch (e) { return; } }
  function dark() {
    var t = root.dataset.theme;
    return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  if (kept()) { root.dataset.theme = kept(); }
  document.getElementById("theme").addEventListener("click", function () {
    root.dataset.theme = dark() ? "light" : "dark";
    keep(root.dataset.theme);
  });
  document.querySelectorAll("button.copy").forEach(function (b) {
    b.addEventListener("click", function () {
      var text = b.parentNode.querySelector("code").textContent;
      function done() { b.textContent = "copied"; setTimeout(function () { b.textContent = "copy"; }, 1500); }
      if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, function () {}); }
    });
  });
  var links = {};
  document.querySelectorAll("nav a").forEach(function (a) { links[a.hash.slice(1)] = a; });
  if ("IntersectionObserver" in window) {
    var seen = new IntersectionObserver(function (entries) {
      entries.forEach(function (e) {
        if (e.isIntersecting && links[e.target.id]) {
          Object.keys(links).forEach(function (k) { links[k].removeAttribute("aria-current"); });
          links[e.target.id].setAttribute("aria-current", "true");
        }
      });
    }, { rootMargin: "-10% 0px -75% 0px" });
    document.querySelectorAll("section[id]").forEach(function (s) { seen.observe(s); });
  }
})();
