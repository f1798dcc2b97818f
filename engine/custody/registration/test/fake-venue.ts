/**
 * A venue that gives wallets keys, as strict as the sheets: an act counts once by its nonce, an address is a key once in
 * its life, names are few, a deposit comes first, lists lag, replies get lost. Two styles of one venue: `long` takes an
 * act for days and tells a used nonce from all else; `short` takes it for ten seconds and calls both the same.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../domain/clock.js";
import { VirtualClock } from "../../../domain/virtual-clock.js";
import type { ActOutcome, AgentRegistrar, KeyStanding, VenueKey, WalletAct } from "../../../key-registrar.js";
import type { Read } from "../../../ports.js";
import type { Gate } from "../../../storage/test/mortal-life.js";

export type Style = "long" | "short";
/**
 * What becomes of a request: `lost` never arrives, `unheard` acts and its reply is lost, `late` acts after seconds,
 * `limited` is refused before its nonce is looked at. Lists have no such limit.
 */
export type Weather = "fine" | "lost" | "unheard" | "late" | "limited" | "down";

interface Agent {
  readonly account: string;
  readonly name: string;
  readonly sinceMs: number;
  endedMs: number | null;
}

interface Request {
  readonly kind: "approve" | "revoke";
  readonly account: string;
  readonly signer: string;
  readonly name: string;
  readonly nonce: number;
}

const WINDOW_MS = { long: 86_400_000, short: 10_000 } as const;
const LIST_LAG_MS = 2_000;
const TYPES = {
  Act: [
    { name: "kind", type: "string" },
    { name: "account", type: "address" },
    { name: "signer", type: "address" },
    { name: "name", type: "string" },
    { name: "nonce", type: "uint64" },
  ],
};
const DOMAIN = { name: "Fake venue", chainId: 1 };
const NAMES = ["k-1", "k-2", "k-3"];
const KEY_LIFE_MS = 90 * 86_400_000;

export class FakeVenue {
  readonly agents = new Map<string, Agent>();
  readonly funded = new Set<string>();
  /** Acts that took effect. */
  approvals = 0;
  readonly #clock: Clock;
  readonly #style: Style;
  readonly #nonces = new Set<number>();
  #nonce = 0;
  #busyUntilMs = 0;
  /** After a key was dropped the long style refuses the next act for so long. */
  busyMs = 5_000;
  /** How late. */
  lateMs: () => number = () => 4_000;
  /** Of the next request. */
  weather: () => Weather = () => "fine";

  readonly #isSigned: (account: string, text: string, signature: string) => Promise<boolean>;

  constructor(
    clock: Clock,
    style: Style,
    isSigned = async (account: string, text: string, signature: string) => signature === signatureOf(account, text),
  ) {
    this.#clock = clock;
    this.#style = style;
    this.#isSigned = isSigned;
  }

  live(account: string): string[] {
    return [...this.agents].flatMap(([signer, one]) =>
      one.account === account && one.endedMs === null ? [signer] : [],
    );
  }

  /** It trades: the short style's servers need a while to agree about an approval. */
  takes(signer: string): boolean {
    const agent = this.agents.get(signer);
    return agent?.endedMs === null && agent.sinceMs + this.#takeUpMs() <= this.#nowMs();
  }

  /** A clock that is set wrong is ours alone. */
  #nowMs(): number {
    return this.#clock instanceof VirtualClock ? this.#clock.trueMs() : this.#clock.wallMs();
  }

  #takeUpMs(): number {
    return this.#style === "short" ? LIST_LAG_MS : 0;
  }

  /** `gate`: what the life of the program does around each request. */
  registrar(gate: Gate): AgentRegistrar {
    return {
      kind: "agent",
      names: NAMES,
      listLagMs: LIST_LAG_MS,
      takeUpMs: this.#takeUpMs(),
      draft: ({ account, name, nowMs }, secret) => ({
        ...{ account, name, signer: addressOf(secret), expiresAtMs: nowMs + KEY_LIFE_MS },
      }),
      approval: (key) => this.#made("approve", key),
      revocation: (key) => this.#made("revoke", key),
      send: (act, signature) => gate(() => this.#send(act, signature)),
      look: (key, secret) => gate(() => this.#look(key, secret)),
      block: (key, secret) => ({ signer: key.signer, secret }),
    };
  }

  async #made(kind: Request["kind"], { account, signer, name }: VenueKey): Promise<{ ok: true; act: WalletAct }> {
    const nonce = Math.max(this.#nowMs(), this.#nonce + 1);
    this.#nonce = nonce;
    const message: Request = { kind, account, signer, name, nonce };
    const request = JSON.stringify({ domain: DOMAIN, types: TYPES, primaryType: "Act", message });
    const validUntilMs = nonce + WINDOW_MS[this.#style];
    return { ok: true, act: { toSign: { kind: "typedData", text: request }, request, validUntilMs } };
  }

  async #send({ request }: Pick<WalletAct, "request">, signature: string): Promise<ActOutcome> {
    const weather = this.weather();
    const wish = (JSON.parse(request) as { readonly message: Request }).message;
    if (!(await this.#isSigned(wish.account, request, signature))) return refused("OTHER", "signature of another");
    if (weather === "down") return { kind: "notSent", problem: "DOWN", retryAfterMs: null };
    if (weather === "lost") return { kind: "unknown" };
    if (weather === "late") {
      this.#clock.setTimer(() => this.#act(wish), this.lateMs());
      return { kind: "unknown" };
    }
    if (weather === "limited") return refused("RATE_LIMITED", "limit", false);
    const outcome = this.#act(wish);
    return weather === "unheard" ? { kind: "unknown" } : outcome;
  }

  #act(wish: Request): ActOutcome {
    const isOld = this.#nowMs() > wish.nonce + WINDOW_MS[this.#style];
    if (this.#nonces.has(wish.nonce) || (isOld && this.#style === "short")) return { kind: "repeated" };
    if (isOld) return refused("OTHER", "nonce too low");
    if (!this.funded.has(wish.account)) return refused("NOT_FUNDED", "must deposit", false);
    this.#nonces.add(wish.nonce);
    if (this.#nowMs() < this.#busyUntilMs) return { ...refused("BUSY", "pending removal"), retryAfterMs: this.busyMs };
    const named = [...this.agents].find(
      ([, one]) => one.account === wish.account && one.name === wish.name && one.endedMs === null,
    );
    const nowMs = this.#nowMs();
    if (wish.kind === "revoke") {
      // The long style drops who has the name.
      if (named === undefined || (this.#style === "short" && named[0] !== wish.signer))
        return refused("OTHER", "no such key");
      named[1].endedMs = nowMs;
      if (this.#style === "long") this.#busyUntilMs = nowMs + this.busyMs;
      return { kind: "done" };
    }
    if (this.agents.has(wish.signer)) return refused("OTHER", "already used");
    if (named !== undefined) named[1].endedMs = nowMs;
    if (this.live(wish.account).length >= NAMES.length) return refused("KEY_LIMIT", "too many");
    this.agents.set(wish.signer, { account: wish.account, name: wish.name, sinceMs: nowMs, endedMs: null });
    this.approvals++;
    return { kind: "done" };
  }

  /** The list as it was `LIST_LAG_MS` ago. */
  async #look(key: VenueKey, secret: Uint8Array): Promise<Read<KeyStanding>> {
    const weather = this.weather();
    if (weather !== "fine" && weather !== "limited")
      return { ok: false, code: "TIMEOUT", message: weather, retryAfterMs: null };
    if (addressOf(secret) !== key.signer) throw new Error("the secret of another key");
    const atMs = this.#nowMs() - LIST_LAG_MS;
    const agent = this.agents.get(key.signer);
    const isLive = agent !== undefined && agent.sinceMs <= atMs && (agent.endedMs === null || agent.endedMs > atMs);
    return { ok: true, value: isLive ? "live" : "absent", asOfMs: this.#nowMs(), source: "venue" };
  }
}

export function signatureOf(account: string, text: string): string {
  return `0x${createHash("sha256").update(account).update(text).digest("hex")}`;
}

export function addressOf(secret: Uint8Array): string {
  return `0x${createHash("sha256").update(secret).digest("hex").slice(0, 40)}`;
}

type Refused = Extract<ActOutcome, { kind: "refused" }>;

function refused(reason: Refused["reason"], venueText: string, isSpent = true): Refused {
  return { kind: "refused", reason, venueText, retryAfterMs: null, isSpent };
}
