/** Deposits at venuetwo (engine/venue-money.ts): the routes that an operator has, and whether one is credited. */
import type { AccountSession, CallOptions, Read } from "../../../engine/ports.js";
import type { DepositRail, DepositRoute } from "../../../engine/venue-money.js";
import type { VenuetwoRest } from "../account/rest.js";
import { creditOf, readMoves } from "./ledger.js";

export class VenuetwoDeposits implements DepositRail {
  readonly isMatchedByHash = true;
  readonly routes: readonly DepositRoute[];
  readonly #rest: VenuetwoRest;

  constructor(rest: VenuetwoRest, routes: readonly DepositRoute[]) {
    this.#rest = rest;
    this.routes = routes;
  }

  route(chainId: number, symbol: string): DepositRoute | null {
    return this.routes.find(({ token }) => token.chainId === chainId && token.symbol === symbol) ?? null;
  }

  async look(
    { hash, chainId }: { readonly hash: string; readonly chainId: number },
    session: AccountSession | null,
    options: CallOptions,
  ): Promise<Read<readonly string[]>> {
    const moves = await readMoves(this.#rest, session, options);
    if (!moves.ok) return moves;
    const venueId = creditOf(moves.value, hash, chainId);
    return { ...moves, value: venueId === null ? [] : [venueId] };
  }
}
