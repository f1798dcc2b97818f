/**
 * The client-signed venue's place in a `positions` key: nobody needs credentials there, and its rows are keyed by their own
 * id too, since an address may hold several of one symbol and direction.
 */
import type { ClientSignedPosition } from "../../engine/client-signed-room.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { ChainHandle, ChainPortfolio } from "../../engine/portfolio/chain-portfolio.js";
import type { Coverage } from "../../engine/portfolio/portfolio-types.js";
import { positionKey } from "../../engine/portfolio/position-changes.js";
import { failureText } from "../accounts/chain-errors.js";
import { chainPosition } from "../accounts/chain-views.js";
import { isEvmAddress } from "../accounts/names.js";
import { isSameRow, type PositionRow } from "./positions-image.js";

/** Of a venue that has no account of this name, or nothing of this topic. */
export function notApplicableHere(message: string): Coverage {
  const error = { code: "NOT_APPLICABLE", message } as const;
  return { state: "ERROR", mode: "poll", asOf: null, source: null, intervalMs: null, error };
}

const FOREIGN_ADDRESS = notApplicableHere("no address of venuefive's chain has this form");

export class ChainMember {
  readonly venue = "venuefive";
  readonly #chain: ChainPortfolio;
  readonly #walletAddress: string;
  readonly #handle: ChainHandle | null;

  /** Throws OVERLOADED when too many addresses are watched. */
  constructor(chain: ChainPortfolio, walletAddress: string, payer: string | null, onChange: () => void) {
    this.#chain = chain;
    this.#walletAddress = walletAddress;
    const handle = isEvmAddress(walletAddress) ? chain.open(walletAddress, onChange, payer) : null;
    if (handle === null && isEvmAddress(walletAddress)) throw new ServiceError("OVERLOADED", { exchange: this.venue });
    this.#handle = handle;
  }

  get isSettled(): boolean {
    return this.#handle === null || this.#handle.watch.isSettled;
  }

  coverage(): Coverage {
    if (this.#handle === null) return FOREIGN_ADDRESS;
    const coverage = this.#handle.watch.coverage();
    const { error } = coverage;
    if (error === null) return coverage;
    const message = failureText(error.code, error.message, this.#chain.room.status().differingPairs);
    return { ...coverage, error: { ...error, message } };
  }

  /**
   * Adds its rows to `rows`; before the first answer those shown last, and of what is gone those shown until it is known how
   * it ended. Unchanged rows stay the same objects.
   */
  addRows(rows: Map<string, PositionRow>, shown: ReadonlyMap<string, PositionRow>, wallMs: number): void {
    const { positions = null, asOfMs = null, ending = [] } = this.#handle?.watch ?? {};
    if (positions === null || asOfMs === null) {
      for (const [key, row] of shown) if (row.position.exchange === this.venue) rows.set(key, row);
      return;
    }
    for (const position of positions) {
      const row = rowOf(position, this.#walletAddress, asOfMs, wallMs);
      const key = this.#keyOf(position);
      const before = shown.get(key);
      rows.set(key, before !== undefined && isSameRow(before, row) ? before : row);
    }
    for (const key of ending.map((position) => this.#keyOf(position))) {
      const before = shown.get(key);
      if (before !== undefined) rows.set(key, before);
    }
  }

  /** Keys of the rows of the last read: also of some that had ended, where the chain undid that. */
  heldKeys(): readonly string[] {
    return this.#handle?.watch.positions?.map((position) => this.#keyOf(position)) ?? [];
  }

  /** Keys of the rows that went with the last read, and were taken by the venue. */
  liquidatedKeys(): readonly string[] {
    return this.#handle?.watch.liquidated.map((position) => this.#keyOf(position)) ?? [];
  }

  #keyOf(position: ClientSignedPosition): string {
    return `${this.venue}|${positionKey(position.symbol, position.direction)}|${idOf(position)}`;
  }

  close(): void {
    this.#handle?.close();
  }
}

/** A slot is used again after a close, so its time is part of the name. */
function idOf({ pairIndex, index, openedAtMs }: ClientSignedPosition): string {
  return `${pairIndex}:${index}:${Math.floor(openedAtMs / 1_000)}`;
}

function rowOf(position: ClientSignedPosition, walletAddress: string, asOfMs: number, wallMs: number) {
  const body = { ...chainPosition(position, walletAddress), positionId: idOf(position) };
  const ageMs = Math.max(0, wallMs - asOfMs);
  return {
    position: { ...body, asOf: asOfMs, source: "venue", ageMs } as const,
    body: JSON.stringify(body),
    liquidationCount: 0,
  };
}
