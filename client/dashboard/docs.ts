/**
 * The page at /docs: both documents of the service, drawn from the served files. The content of an operation or a frame
 * is drawn when it is opened. Texts are inserted as text, never as markup.
 */
import {
  type ContentView,
  type FrameView,
  fieldsOf,
  framesOf,
  type GroupView,
  groupsOf,
  type Json,
  matches,
  type OperationView,
} from "../view/api-docs.js";
import { part, setHidden, setText } from "./dom.js";

/** Levels of a schema drawn at once; deeper ones open by a click. */
const OPEN_LEVELS = 1;

const content = part("#content", HTMLElement);
const contents = part("#contents", HTMLElement);
const find = part("#find", HTMLInputElement);
const state = part("#state", HTMLElement);

type Child = Node | string | null;

function make(name: string, className: string, ...children: readonly Child[]): HTMLElement {
  const node = document.createElement(name);
  if (className !== "") node.className = className;
  for (const child of children) if (child !== null && child !== "") node.append(child);
  return node;
}

/** Names in backticks become code. */
function prose(text: string): HTMLElement {
  return make(
    "p",
    "words",
    ...text.split("`").map((piece, index) => (index % 2 === 0 ? piece : make("code", "", piece))),
  );
}

/** Its content is made when it first opens. */
function fold(className: string, summary: readonly Child[], fill: () => readonly Child[]): HTMLDetailsElement {
  const node = document.createElement("details");
  node.className = className;
  node.append(make("summary", "", ...summary));
  let isFilled = false;
  node.addEventListener("toggle", () => {
    if (!node.open || isFilled) return;
    isFilled = true;
    node.append(make("div", "inside", ...fill()));
  });
  return node;
}

function fieldList(of: Json, schema: Json | null, level = 0): HTMLElement | null {
  const fields = fieldsOf(of, schema);
  if (fields.length === 0) return null;
  const rows = fields.map((field) => {
    const head = [
      make("code", "name", field.name),
      make("span", "type", field.type),
      field.isRequired ? make("span", "required", "required") : null,
    ];
    const words = field.description === "" ? null : prose(field.description);
    const { schema: inner } = field;
    if (inner === null) return make("li", "field", make("p", "", ...head), words);
    if (level < OPEN_LEVELS) return make("li", "field", make("p", "", ...head), words, fieldList(of, inner, level + 1));
    return make(
      "li",
      "field",
      fold("nested", head, () => [words, fieldList(of, inner, level + 1)]),
    );
  });
  return make("ul", "fields", ...rows);
}

function contentParts(of: Json, title: string, { schema, example }: ContentView): readonly Child[] {
  const fields = fieldList(of, schema);
  const shown = example === null ? null : fold("nested", ["Example"], () => [sample(example)]);
  return fields === null && shown === null ? [] : [title === "" ? null : make("h4", "", title), fields, shown];
}

function sample(text: string): HTMLElement {
  const node = make("pre", "", text);
  // It scrolls sideways, so the keyboard must be able to reach it.
  node.tabIndex = 0;
  return node;
}

function operationNode(of: Json, operation: OperationView): HTMLDetailsElement {
  const { id, method, path, summary, description, access, parameters, body, replies } = operation;
  const badge = make("span", "method", method);
  badge.dataset["method"] = method;
  const node = fold("operation", [badge, make("code", "path", path), make("span", "summary", summary)], () => [
    prose(description),
    prose(`Who asks: ${access}.`),
    ...(parameters.length === 0 ? [] : [make("h4", "", "Parameters"), parameterList(parameters)]),
    ...(body === null ? [] : contentParts(of, "Body", body)),
    make("h4", "", "Replies"),
    make("ul", "replies", ...replies.map((reply) => replyNode(of, reply))),
  ]);
  node.id = id;
  return node;
}

function parameterList(parameters: OperationView["parameters"]): HTMLElement {
  const rows = parameters.map(({ name, place, type, isRequired, description }) =>
    make(
      "li",
      "field",
      make(
        "p",
        "",
        make("code", "name", name),
        make("span", "type", `${place}, ${type}`),
        isRequired ? make("span", "required", "required") : null,
      ),
      description === "" ? null : prose(description),
    ),
  );
  return make("ul", "fields", ...rows);
}

function replyNode(of: Json, reply: OperationView["replies"][number]): HTMLElement {
  const head = [make("b", "status num", reply.status), make("span", "words", reply.description)];
  const isRefusal = Number(reply.status) >= 400;
  // Every refusal has the same envelope, which the introduction shows.
  if (isRefusal) return make("li", "", make("p", "", ...head));
  return make(
    "li",
    "",
    fold("nested", head, () => contentParts(of, "", reply)),
  );
}

function frameNode(of: Json, frame: FrameView): HTMLDetailsElement {
  const badge = make("span", "method", frame.sender === "you" ? "SEND" : "GET");
  setText(badge, frame.sender === "you" ? "you" : "service");
  badge.dataset["method"] = frame.sender === "you" ? "POST" : "GET";
  const node = fold("frame", [badge, make("code", "path", frame.name), make("span", "summary", frame.summary)], () =>
    contentParts(of, "Fields", frame),
  );
  node.id = `frame-${frame.name}`;
  return node;
}

function section(id: string, title: string, words: string, nodes: readonly Node[]): HTMLElement {
  const node = make(
    "section",
    "panel",
    make("h2", "", title),
    words === "" ? null : make("p", "hint", words),
    ...nodes,
  );
  node.id = id;
  const link = document.createElement("a");
  link.href = `#${id}`;
  link.textContent = title;
  contents.append(link);
  return node;
}

const idOf = (name: string) => `part-${name.replaceAll(" ", "-")}`;

function drawOperations(of: Json, groups: readonly GroupView[]): void {
  const found: { readonly node: HTMLElement; readonly operation: OperationView }[] = [];
  for (const { name, description, operations } of groups) {
    const nodes = operations.map((operation) => {
      const node = operationNode(of, operation);
      found.push({ node, operation });
      return node;
    });
    content.append(section(idOf(name), name, description, nodes));
  }
  find.addEventListener("input", () => {
    for (const { node, operation } of found) setHidden(node, !matches(operation, find.value));
  });
}

function drawFrames(of: Json, frames: readonly FrameView[]): void {
  const words = "One WebSocket at /ws, JSON text. Subscriptions begin with a snapshot; updates follow in sequence.";
  content.append(
    section(
      "part-stream",
      "stream",
      words,
      frames.map((frame) => frameNode(of, frame)),
    ),
  );
}

async function read(path: string): Promise<Json> {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return (await response.json()) as Json;
}

/** Opens the part that the address names; it did not exist yet when the browser looked for it. */
function showNamed(): void {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) named.open = true;
  named?.scrollIntoView();
}

async function draw(): Promise<void> {
  try {
    const [http, stream] = await Promise.all([read("/openapi.json"), read("/asyncapi.json")]);
    drawOperations(http, groupsOf(http));
    drawFrames(stream, framesOf(stream));
    setHidden(state, true);
    showNamed();
    addEventListener("hashchange", showNamed);
  } catch {
    setText(state, "The documents cannot be read. Is the service running? Load the page again.");
  }
}

void draw();
