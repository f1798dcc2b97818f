/**
 * Money between the venue and its bridge, fact sheet 10. Invariant: a withdrawal leaves the account when its action is
 * accepted, and what the bridge did not pay comes back.
 */
import type { Hex } from "viem";
import type { ChainDeposit } from "../../chain/deposit-watcher.js";
import type { Payout } from "../../chain/payout-desk.js";
import { Treasury, type VenueChains } from "../../chain/treasury.js";
import { E12_PER_USD, type PayoutPort, usdText, type Venue, type VenueAccount, type Withdrawal } from "./venue.js";

const CHAIN_ID = 42161;
/** Less is lost: the bridge has it, and nobody is credited. */
const DEPOSIT_MIN_E12 = 5n * E12_PER_USD;
const E12_PER_E6 = 1_000_000n;

interface OpenWithdrawal extends Withdrawal {
  readonly account: VenueAccount;
}

export class BridgeDesk implements PayoutPort {
  readonly treasury: Treasury;
  readonly #venue: Venue;
  readonly #open = new Map<string, OpenWithdrawal>();
  #isHolding = false;

  constructor(venue: Venue, chains: VenueChains) {
    this.#venue = venue;
    this.treasury = new Treasury("bridge", chains, {
      onDeposit: (deposit) => this.#credit(deposit),
      onPayoutEnd: (payout) => this.#conclude(payout),
    });
  }

  pay(account: VenueAccount, withdrawal: Withdrawal): void {
    const { destination, amountE12, feeE12, nonce } = withdrawal;
    const reference = `${account.address}:${nonce}`;
    this.#open.set(reference, { ...withdrawal, account });
    this.treasury.pay({
      ...{ reference, id: BigInt(nonce), chainId: CHAIN_ID, token: "USDC" },
      ...{ user: account.address as Hex, destination: destination as Hex },
      ...{ amount: amountE12 / E12_PER_E6, fee: feeE12 / E12_PER_E6 },
    });
  }

  /** Throws RangeError on a value that is none. */
  hold(isHolding: unknown): void {
    if (typeof isHolding !== "boolean") throw new RangeError("hold: true, false");
    this.#isHolding = isHolding;
    this.treasury.hold(isHolding);
  }

  /** For the control API. */
  describe(): Readonly<Record<string, unknown>> {
    const { pending, open, problem } = this.treasury;
    const waiting = pending.map(({ hash, chainId, account }) => ({ hash, chainId, account }));
    return { hold: this.#isHolding, pending: waiting, open, problem };
  }

  #credit({ account: address, amount }: ChainDeposit): void {
    const amountE12 = amount * E12_PER_E6;
    if (amountE12 < DEPOSIT_MIN_E12) return;
    const venue = this.#venue;
    const known = venue.account(address);
    const account = known ?? venue.openAccount(address, "0", "0");
    venue.moveCash(account, amountE12, "DEPOSIT");
    venue.addLedgerRow(account, { type: "deposit", usdc: usdText(amountE12) });
  }

  /** What the venue shows of a payout that its bridge refuses is not known; the money is back, without a row. */
  #conclude({ id, state }: Payout): void {
    const open = this.#open.get(id);
    if (open === undefined || state === "PROCESSING") return;
    this.#open.delete(id);
    if (state === "FAILED") this.#venue.moveCash(open.account, open.amountE12 + open.feeE12, "ADJUSTMENT");
  }
}
