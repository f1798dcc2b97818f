/** Two ends of a connection in memory, for tests: it carries in order, and a test may delay, drop, change or cut. */
import type { Clock } from "../../../domain/clock.js";
import { otherParty, type Party } from "../../mpc/base/parameters.js";
import { copyOf } from "../../mpc/test/link.js";
import type { Message } from "../../mpc/wire/header.js";
import { kindOfType } from "../../mpc/wire/message-types.js";
import type { LinkListener, PartyLink } from "../party-link.js";

/** What becomes of a message. `cut`: it is lost with the connection; `last`: it arrives, then the connection is lost. */
export type Fate = "pass" | "drop" | "cut" | "last" | { readonly delayMs: number } | readonly Message[];

/** The longest pause of the client. */
const RECONNECT_MS = 5_000;

export class MemoryLink {
  readonly #clock: Clock;
  readonly #listeners: [LinkListener | null, LinkListener | null] = [null, null];
  /** Messages of a former connection never arrive. */
  #connection = 0;
  #isUp = false;
  dropCount = 0;
  readonly log: string[] = [];
  fate: (message: Message, name: string, from: Party) => Fate = () => "pass";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** The end of one start of a party; a later start takes its place. */
  end(party: Party): PartyLink {
    let own: LinkListener | null = null;
    const isOwn = (): boolean => own !== null && this.#listeners[party] === own;
    return {
      listen: (listener) => {
        own = listener;
        this.#listeners[party] = listener;
      },
      send: (message) => {
        if (isOwn()) this.#send(copyOf(message), party);
      },
      drop: () => {
        this.dropCount++;
        // What was sent before is read by the other side.
        const connection = this.#connection;
        if (isOwn()) queueMicrotask(() => this.#connection === connection && this.cut());
        // As the client does, after its pause.
        this.#clock.setTimer(() => this.connect(), RECONNECT_MS);
      },
      close: async () => this.cut(),
    };
  }

  connect(): void {
    if (this.#isUp || this.#listeners.includes(null)) return;
    this.#isUp = true;
    this.#connection++;
    for (const listener of this.#listeners) listener?.connected();
  }

  cut(): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    this.#connection++;
    for (const listener of this.#listeners) listener?.lost();
  }

  /** A party died: its end hears nothing more. */
  gone(party: Party): void {
    this.#listeners[party] = null;
    this.cut();
  }

  /** As if the other party had sent it. */
  inject(to: Party, message: Message): Promise<void> {
    return this.#listeners[to]?.message(copyOf(message)) ?? Promise.resolve();
  }

  #send(message: Message, from: Party): void {
    if (!this.#isUp) return;
    const name = kindOfType(message.header.type)?.name ?? "none";
    this.log.push(`${from} ${name}`);
    const fate = this.fate(message, name, from);
    if (fate === "drop") return;
    if (fate === "cut") this.cut();
    else if (Array.isArray(fate)) for (const each of fate as readonly Message[]) this.#deliver(each, from, 0);
    else this.#deliver(message, from, typeof fate === "object" && "delayMs" in fate ? fate.delayMs : 0);
    if (fate === "last") queueMicrotask(() => this.cut());
  }

  #deliver(message: Message, from: Party, delayMs: number): void {
    const connection = this.#connection;
    const arrive = (): void => {
      if (this.#connection === connection) void this.#listeners[otherParty(from)]?.message(message);
    };
    if (delayMs > 0) this.#clock.setTimer(arrive, delayMs);
    else queueMicrotask(arrive);
  }
}
