// The script of the pages. It waits for events; at each it gets the new body and changes what is
// different in place, so that focus, scrolling, selections and open details stay as they are.
#include "serve/live_page.h"

namespace plimsoll::serve {

std::string_view live_script() {
  return R"js("use strict";
(() => {
  const main = document.querySelector("main[data-version]");
  const state = document.getElementById("live");
  if (!main || !state || !window.EventSource) return;
  const base = location.pathname.replace(/\/$/, "") + "/";
  const retryMilliseconds = 2000;
  let source = null;
  let timer = 0;
  let wanted = "";
  let fetching = false;

  function say(kind, text) {
    if (state.dataset.state === kind) return;
    state.dataset.state = kind;
    state.textContent = text;
  }

  // What tells a row of a table from the others: its first link.
  function keyOf(node) {
    if (node.nodeType !== Node.ELEMENT_NODE) return "";
    if (node.id) return "#" + node.id;
    const link = node.nodeName === "TR" ? node.querySelector("a[href]") : null;
    return link ? link.getAttribute("href") : "";
  }

  function changeAttributes(old, fresh) {
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      const isReaders = old.nodeName === "DETAILS" && name === "open";
      if (!fresh.hasAttribute(name) && !isReaders) old.removeAttribute(name);
    }
  }

  function changeChildren(old, fresh) {
    const keyed = new Map();
    for (const child of old.childNodes) {
      const key = keyOf(child);
      if (key) keyed.set(key, child);
    }
    let place = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      const key = keyOf(child);
      let match = key ? keyed.get(key) : place;
      while (!key && match && (keyOf(match) || match.nodeName !== child.nodeName)) {
        match = match.nextSibling;
      }
      if (!match) {
        old.insertBefore(child, place);
        continue;
      }
      if (match === place) {
        place = place.nextSibling;
      } else {
        old.insertBefore(match, place);
      }
      change(match, child);
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  }

  // `fresh` is of another document, and is used up.
  function change(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeName !== fresh.nodeName || old.nodeName.toLowerCase() === "svg") {
      old.replaceWith(fresh);
    } else if (old.nodeType !== Node.ELEMENT_NODE) {
      old.nodeValue = fresh.nodeValue;
    } else {
      changeAttributes(old, fresh);
      changeChildren(old, fresh);
    }
  }

  function show(text, version) {
    const parsed = new DOMParser().parseFromString("<main>" + text + "</main>", "text/html");
    const focused = document.activeElement;
    changeChildren(main, parsed.querySelector("main"));
    main.dataset.version = version;
    // A row that moved has lost the focus.
    if (focused && focused !== document.activeElement && document.contains(focused)) {
      focused.focus({ preventScroll: true });
    }
  }

  async function update(version) {
    wanted = version;
    if (fetching) return;
    fetching = true;
    try {
      while (wanted && wanted !== main.dataset.version) {
        const asked = wanted;
        const answer = await fetch(base + "body", { cache: "no-store" });
        if (isFinal(answer)) return;
        if (!answer.ok) throw new Error(String(answer.status));
        show(await answer.text(), answer.headers.get("X-Version") || asked);
        if (wanted === asked) break;
      }
    } catch (problem) {
      lost();
    } finally {
      fetching = false;
    }
  }

  function end(kind, text) {
    say(kind, text);
    close();
  }

  function gone() {
    end("gone", "This run was removed");
  }

  // Whether an answer says that trying again is useless.
  function isFinal(answer) {
    if (answer.status === 404) gone();
    if (answer.status === 401) end("token", "Open the address that the server printed now");
    return answer.status === 404 || answer.status === 401;
  }

  function close() {
    clearTimeout(timer);
    timer = 0;
    if (source) source.close();
    source = null;
  }

  function lost() {
    end("lost", "Connection lost, trying again");
    if (!document.hidden) timer = setTimeout(tryAgain, retryMilliseconds);
  }

  // An EventSource does not say why it failed.
  async function tryAgain() {
    try {
      if (!isFinal(await fetch(base + "body", { method: "HEAD", cache: "no-store" }))) connect();
    } catch (problem) {
      lost();
    }
  }

  function connect() {
    close();
    source = new EventSource(base + "events");
    source.addEventListener("version", (event) => {
      say("live", "Live");
      update(event.data);
    });
    source.addEventListener("gone", gone);
    source.onerror = lost;
  }

  // A browser has few connections to a server: a page that nobody sees gives its one back.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      close();
    } else if (!source) {
      tryAgain();
    }
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) tryAgain();
  });
  say("waiting", "Connecting");
  connect();
})();
)js";
}

}  // namespace plimsoll::serve
