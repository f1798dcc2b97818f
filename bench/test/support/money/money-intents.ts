/**
 * What callers ask for, by the seed. Each intent has an amount of its own, so its effect is found without the ledger; some
 * are alike on purpose.
 */
import { parseUnits } from "viem";
import { createSeededRandom, type Random } from "../../../../engine/domain/random.js";
import { type WorldChainId, worldToken } from "../../../sim/chain/world-plan.js";
import { OVER_RESERVE, type MoneyWallet } from "./money-world.js";

export type AskKind = "deposit" | "withdrawal" | "internal";

interface IntentOf<Kind extends AskKind> {
  readonly kind: Kind;
  readonly serial: number;
  /** Of the run, in which it was asked for first. */
  readonly step: number;
  readonly venue: "venueone" | "venuetwo";
  readonly wallet: MoneyWallet;
  readonly symbol: string;
  /** Decimal text in token units. */
  readonly amount: string;
  /** Null: the product chooses. */
  readonly transferId: string | null;
  /** What each of its callers heard: `done`, a code, `dead`, `hangs`. */
  readonly outcomes: string[];
}

interface OnChain {
  readonly chainId: WorldChainId;
  readonly units: bigint;
}

export interface DepositIntent extends IntentOf<"deposit">, OnChain {}

export interface WithdrawalIntent extends IntentOf<"withdrawal">, OnChain {
  readonly receiver: string;
  readonly accountType: "spot" | "perp" | null;
}

export interface InternalIntent extends IntentOf<"internal"> {
  readonly kindType: "SPOT_FUTURE" | "FUTURE_SPOT";
  readonly clientTranId: string;
}

export type Intent = DepositIntent | WithdrawalIntent | InternalIntent;

export const nameOf = ({ kind, serial, step, venue, amount, outcomes }: Intent): string =>
  `#${serial} of step ${step}, ${kind} of ${amount} at ${venue} (${outcomes.join(", ")})`;

export const FOREIGN = "0x00000000000000000000000000000000000000dd";
/** More than any wallet has on chain, or at a venue. */
const TOO_MUCH = 50_000;

/** What a run asks for, most often first. */
export interface AskMix {
  readonly kinds?: readonly AskKind[];
  readonly venues?: readonly ("venueone" | "venuetwo")[];
}

const DEPOSITS = [
  { venue: "venuetwo", chainId: 56, symbol: "USDT" },
  { venue: "venuetwo", chainId: 56, symbol: "USDT" },
  { venue: "venueone", chainId: 42161, symbol: "USDC" },
  { venue: "venueone", chainId: 42161, symbol: "USDC" },
  { venue: "venuetwo", chainId: 1, symbol: "USDT" },
  { venue: "venuetwo", chainId: 42161, symbol: "USDT" },
] as const;
const KINDS: readonly AskKind[] = ["deposit", "deposit", "deposit", "withdrawal", "withdrawal", "internal"];

export class Asks {
  readonly #random: Random;
  readonly #wallets: readonly MoneyWallet[];
  readonly #mix: AskMix;
  readonly #made: Intent[] = [];

  constructor(seed: number, wallets: readonly MoneyWallet[], mix: AskMix) {
    this.#random = createSeededRandom(seed ^ 0xa5c5);
    this.#wallets = wallets;
    this.#mix = mix;
  }

  get made(): readonly Intent[] {
    return this.#made;
  }

  /** A new intent, or one that was asked before, by its id or its name. */
  next(step: number): Intent {
    const again = this.#made.filter(({ transferId, kind }) => transferId !== null || kind === "internal");
    if (again.length > 0 && this.#chance(0.1)) return this.#pick(again.slice(-12));
    const alike = this.#made.filter(({ kind }) => kind !== "deposit").slice(-4);
    const intent = alike.length > 0 && this.#chance(0.12) ? this.#like(this.#pick(alike), step) : this.#new(step);
    this.#made.push(intent);
    return intent;
  }

  /** Another one that the venue's history does not tell from the first. */
  #like(first: Intent, step: number): Intent {
    const serial = this.#made.length + 1;
    const own = { serial, step, transferId: null, outcomes: [] };
    return first.kind === "internal" ? { ...first, ...own, clientTranId: `move-${serial}` } : { ...first, ...own };
  }

  #new(step: number): Intent {
    const { kinds = KINDS, venues = ["venueone", "venuetwo"] } = this.#mix;
    const kind = this.#pick(kinds);
    const wallet = this.#pick(this.#wallets);
    const serial = this.#made.length + 1;
    const common = { serial, step, wallet, transferId: this.#chance(0.5) ? idOf(wallet, serial) : null, outcomes: [] };
    if (kind === "internal")
      return {
        ...{ ...common, kind, venue: "venuetwo", symbol: "USDT", amount: this.#amount(serial, 0) },
        kindType: this.#pick(["SPOT_FUTURE", "FUTURE_SPOT"]),
        clientTranId: `move-${serial}`,
      };
    const way = this.#pick(DEPOSITS.filter(({ venue }) => venues.includes(venue)));
    const least = way.venue === "venueone" ? 4 : kind === "withdrawal" ? 1 : 0;
    const isOver = kind === "withdrawal" && wallet.isRich && this.#chance(0.4);
    const amount = isOver ? `${OVER_RESERVE}.${sixOf(serial)}` : this.#amount(serial, least);
    const units = parseUnits(amount, worldToken(way.chainId, way.symbol).decimals);
    if (kind === "deposit") return { ...common, kind, ...way, amount, units };
    const isElsewhere = way.venue === "venueone" && this.#chance(0.4);
    return {
      ...{ ...common, kind, ...way, amount, units, receiver: isElsewhere ? FOREIGN : wallet.address },
      accountType: way.venue === "venueone" ? null : this.#pick(["spot", "perp"]),
    };
  }

  /** Small and odd, now and then more than there is. */
  #amount(serial: number, least: number): string {
    const whole = this.#chance(0.05) ? TOO_MUCH : least + Math.floor(this.#random.next() * 12);
    return `${whole}.${sixOf(serial)}`;
  }

  #chance(part: number): boolean {
    return this.#random.next() < part;
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random.next() * list.length)] as T;
  }
}

/** Odd digits that no other intent has, and that end in no zero. */
function sixOf(serial: number): string {
  return String(serial * 10 + 1).padStart(6, "0");
}

function idOf({ walletId }: MoneyWallet, serial: number): string {
  return `${serial.toString(16).padStart(8, "0")}${walletId.slice(8)}`;
}
