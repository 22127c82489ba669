// Small comforts of the editors' pages. Everything works without them.
"use strict";

(function () {
  document.documentElement.classList.add("js");

  // --- leaving with unsaved changes warns ---

  const contents = (form) => new URLSearchParams(new FormData(form)).toString();
  const guarded = [...document.querySelectorAll("form[data-warns]")].map((form) => ({
    form,
    saved: contents(form),
  }));
  let leaving = false;

  window.addEventListener("beforeunload", (event) => {
    const unsaved = ({ form, saved }) => "unsaved" in form.dataset || contents(form) !== saved;
    if (!leaving && guarded.some(unsaved)) event.preventDefault();
  });

  // --- who signs in meanwhile, in another tab, has another token for every form ---

  const token = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1];

  document.addEventListener(
    "submit",
    (event) => {
      const field = event.target.elements.namedItem("csrfmiddlewaretoken");
      if (field && token()) field.value = token();
    },
    true,
  );
  document.addEventListener("htmx:configRequest", (event) => {
    const { parameters } = event.detail;
    if (parameters.csrfmiddlewaretoken && token()) parameters.csrfmiddlewaretoken = token();
  });

  // --- the preview says so when nobody is signed in any more ---

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target } = event.detail;
    if (xhr.status === 401 && target.id === "preview") event.detail.shouldSwap = true;
  });

  // --- a second click sends nothing: the first is under way ---

  const forget = () => {
    leaving = false;
    for (const form of document.forms) delete form.dataset.sent;
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
    if (form.matches("[data-warns]")) leaving = true;
    // Whoever stopped the page from loading is still here then, and may send it once more.
    setTimeout(forget, 5000);
  });
  window.addEventListener("pageshow", forget);

  // --- the same for what htmx sends; and where nobody answers, a way to go on ---

  document.addEventListener("htmx:beforeRequest", (event) => {
    const form = event.target;
    if (!form.matches("form[data-once]")) return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = "yes";
  });
  for (const failure of ["htmx:sendError", "htmx:responseError"]) {
    document.addEventListener(failure, (event) => {
      delete event.target.dataset.sent;
      const words = event.target.querySelector("[data-when-failed]");
      if (words) words.hidden = false;
    });
  }

  // --- how much still fits, in characters as the server counts them ---

  for (const counter of document.querySelectorAll("[data-counts]")) {
    const field = document.getElementById(counter.dataset.counts);
    const limit = Number(field.dataset.limit);
    const number = new Intl.NumberFormat(document.documentElement.lang || undefined);
    const count = () => {
      let length = 0;
      for (const _ of field.value) length += 1;
      counter.textContent = `${number.format(length)} / ${number.format(limit)}`;
      counter.classList.toggle("over", length > limit);
    };
    counter.hidden = false;
    field.addEventListener("input", count);
    count();
  }

  // --- keys: those that are shown at the foot of the page ---

  const typing = (element) =>
    element.isContentEditable || element.matches("input, select, textarea");
  let before = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const keys = document.getElementById("keys");
    if (!keys) return;
    const sequence = before === "g" ? `g ${event.key}` : event.key;
    before = event.key;
    if (event.key === "?") {
      keys.open = !keys.open;
      if (keys.open) keys.querySelector("summary").focus();
      return event.preventDefault();
    }
    const link = keys.querySelector(`[data-key="${CSS.escape(sequence)}"]`);
    if (!link) return;
    event.preventDefault();
    const search = document.getElementById("q");
    if (sequence === "/" && search) return search.select();
    link.click();
  });
  if (location.hash === "#q") document.getElementById("q")?.select();

  // --- the zone that this browser lives in ---

  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const select of document.querySelectorAll("select[data-zone='guess']")) {
    if ([...select.options].some((option) => option.value === zone)) select.value = zone;
  }

  // --- choosing all rows of a table ---

  for (const all of document.querySelectorAll("[data-selects]")) {
    all.closest("label").hidden = false;
    all.addEventListener("change", () => {
      for (const box of document.querySelectorAll(`input[name="${all.dataset.selects}"]`)) {
        box.checked = all.checked;
      }
    });
  }
})();
