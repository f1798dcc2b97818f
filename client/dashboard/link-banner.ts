/** The connection to the service: a pill that always shows it, a banner when figures are not current. */
import type { StreamStatus } from "../stream/stream-client.js";
import { clockText } from "../view/format.js";
import type { Board } from "./board.js";
import { part, setData, setHidden, setText } from "./dom.js";

/** A first connection takes a moment, which needs no banner. */
const BANNER_AFTER_MS = 1_500;

export class LinkBanner {
  readonly #board: Board;
  readonly #nowMs: () => number;
  readonly #link = part("#link", HTMLElement);
  readonly #text = part("#link-text", HTMLElement);
  readonly #banner = part("#banner", HTMLElement);
  #lastOpenMs: number | null = null;
  #lostAtMs: number;

  constructor(board: Board, nowMs: () => number) {
    this.#board = board;
    this.#nowMs = nowMs;
    this.#lostAtMs = nowMs();
  }

  draw(): void {
    const { status } = this.#board.client;
    const isOpen = status.phase === "open";
    if (isOpen) {
      this.#lastOpenMs = Date.now();
      this.#lostAtMs = this.#nowMs();
    }
    setData(this.#link, "phase", status.phase);
    setText(this.#text, this.#linkText(status));
    setData(document.body, "link", isOpen ? "open" : "lost");
    const isLong = this.#nowMs() - this.#lostAtMs >= BANNER_AFTER_MS;
    setHidden(this.#banner, isOpen || !isLong);
    const since = this.#lastOpenMs === null ? "" : ` Figures are from ${clockText(this.#lastOpenMs)}.`;
    setText(this.#banner, `${bannerText(status)}${since}`);
  }

  #linkText(status: StreamStatus): string {
    switch (status.phase) {
      case "open":
        return status.lagging ? "Live, merged" : "Live";
      case "waiting":
        return `Retry in ${Math.max(0, Math.ceil(((status.retryAtMs ?? 0) - this.#nowMs()) / 1000))} s`;
      case "refused":
        return "Refused";
      case "connecting":
      case "idle":
        return "Connecting";
    }
  }
}

function bannerText({ phase, refusal }: StreamStatus): string {
  if (phase === "refused" && refusal !== null) return `The service does not accept this page's key: ${refusal.error}.`;
  return phase === "refused"
    ? "The service refused this page's connection. Reload to try again."
    : "No connection to the service. Trying again by itself.";
}
