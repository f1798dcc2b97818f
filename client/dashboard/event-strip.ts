/** Status changes, newest first, and their announcement to screen readers. */
import { EMPTY_LOG, type EventLog, noteFeeds, noteState, SERVICE, type StatusEvent } from "../view/events.js";
import { clockText } from "../view/format.js";
import { type Board, isConnected } from "./board.js";
import { part, setHidden } from "./dom.js";

const WORDS: Readonly<Record<string, string>> = { open: "connected", waiting: "connection lost", refused: "refused" };

export class EventStrip {
  readonly #board: Board;
  readonly #announce: (text: string) => void;
  readonly #list = part("#event-list", HTMLElement);
  readonly #empty = part("#events-empty", HTMLElement);
  #log: EventLog = EMPTY_LOG;
  #drawnId = 0;

  constructor(board: Board, announce: (text: string) => void) {
    this.#board = board;
    this.#announce = announce;
  }

  /** Checks what has changed; cheap when nothing has. */
  draw(): void {
    const before = this.#log;
    const { phase, feeds } = this.#board.client.status;
    const nowMs = Date.now();
    let log = before;
    if (phase !== "connecting" && phase !== "idle") log = noteState(log, SERVICE, phase, nowMs);
    if (isConnected(this.#board)) log = noteFeeds(log, this.#board.status?.feeds ?? feeds, nowMs);
    if (log === before) return;
    this.#log = log;
    const fresh = log.events.filter((event) => event.id > this.#drawnId);
    this.#drawnId = log.nextId - 1;
    this.#list.prepend(...fresh.map(entryOf));
    while (this.#list.children.length > log.events.length) this.#list.lastElementChild?.remove();
    setHidden(this.#empty, log.events.length > 0);
    const told = fresh.filter((event) => event.from !== null);
    if (told.length > 0) this.#announce(told.map(({ subject, to }) => `${subject} ${WORDS[to] ?? to}`).join(", "));
  }
}

function entryOf({ atMs, subject, from, to }: StatusEvent): HTMLElement {
  const entry = document.createElement("li");
  const time = document.createElement("time");
  time.dateTime = new Date(atMs).toISOString();
  time.textContent = clockText(atMs);
  const name = document.createElement("b");
  name.textContent = subject;
  const word = document.createElement("span");
  word.className = "to";
  word.dataset.state = to;
  word.textContent = WORDS[to] ?? to;
  entry.append(time, name, from === null || subject === SERVICE ? " " : ` ${WORDS[from] ?? from} → `, word);
  return entry;
}
