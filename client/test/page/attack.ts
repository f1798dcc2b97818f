/**
 * Everything that a page can try against a service of another origin: each mutating route in every possible way. The
 * browser test injects it into a page of another origin. A classic script without imports, so that it can be injected
 * unchanged.
 */
interface AttackPlan {
  /** Origin of the service. */
  readonly target: string;
  readonly routes: readonly { readonly method: string; readonly path: string }[];
  readonly body: object;
  readonly walletId: string;
}

/** Returns what the page could read of the replies: nothing, if the service is protected. */
async function attack({ target, routes, body, walletId }: AttackPlan): Promise<string[]> {
  const text = JSON.stringify(body);
  const read: string[] = [];
  const sent: Promise<unknown>[] = [];
  const note = (path: string, answer: Promise<Response>) =>
    sent.push(
      answer.then(
        ({ type, status }) => type !== "opaque" && read.push(`${path} ${status}`),
        () => null,
      ),
    );
  for (const { method, path } of routes) {
    const url = target + path;
    if (method === "GET") {
      note(path, fetch(url, { mode: "no-cors" }));
      note(path, fetch(url, { headers: { "x-wallet-id": walletId } }));
      continue;
    }
    // Sent without a preflight.
    const plain = { "content-type": "text/plain" };
    note(path, fetch(url, { method: "POST", mode: "no-cors", headers: plain, body: text }));
    navigator.sendBeacon(url, new Blob([text], { type: "text/plain" }));
    sent.push(sendForm(url, text));
    // Needs a preflight before it is sent.
    const json = { "content-type": "application/json", "x-wallet-id": walletId };
    note(path, fetch(url, { method, headers: json, ...(method === "DELETE" ? {} : { body: text }) }));
    sent.push(sendOld(method, url, text).then((status) => status !== 0 && read.push(`${path} ${status}`)));
  }
  sent.push(opensStream(target).then((opened) => opened && read.push("stream")));
  await Promise.all(sent);
  return read;
}

/** A plain-text form whose one field makes JSON: its `=` falls inside a string. */
function sendForm(url: string, json: string): Promise<unknown> {
  return new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.name = `frame-${document.querySelectorAll("iframe").length}`;
    frame.onload = resolve;
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: url, enctype: "text/plain", target: frame.name });
    const field = document.createElement("input");
    field.name = `${json.slice(0, -1)},"clientOrderId":"`;
    field.value = '"}';
    form.append(field);
    document.body.append(frame, form);
    form.submit();
  });
}

/** Returns the status; 0 where the page may not see it. */
function sendOld(method: string, url: string, text: string): Promise<number> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.onloadend = () => resolve(request.status);
    request.send(text);
  });
}

function opensStream(target: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${target.replace("http", "ws")}/ws`);
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  });
}

Object.assign(globalThis, { attack });
