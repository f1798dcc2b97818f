/** What one cell of the kill matrix asks for: whose money, how much, to where, and the request. */
import { formatUnits, parseUnits } from "viem";
import { type WorldChainId, worldToken } from "../../sim/chain/world-plan.js";
import type { WalletFields } from "./custody-bench.js";
import type { Ask, Fields } from "./money-asks.js";
import { type Cell, isAtVenueone } from "./money-cells.js";
import { ALLOWED } from "./money-stand.js";

export class CellMoney {
  readonly cell: Cell;
  readonly wallet: WalletFields;
  readonly #serial: number;

  constructor(cell: Cell, wallet: WalletFields, serial: number) {
    this.cell = cell;
    this.wallet = wallet;
    this.#serial = serial;
  }

  get address(): string {
    return this.wallet.address.toLowerCase();
  }

  get venue(): "venueone" | "venuetwo" {
    return isAtVenueone(this.cell) ? "venueone" : "venuetwo";
  }

  /** Of the chain that the cell is on; of a cell without one there is none to ask for. */
  get chainId(): WorldChainId {
    if (this.cell.network === null) throw new RangeError("money that stays at the venue");
    return this.cell.network;
  }

  get symbol(): "USDC" | "USDT" {
    return isAtVenueone(this.cell) ? "USDC" : "USDT";
  }

  /** Unlike that of any other cell, so that a venue's request shows whose it is; as the ledger writes it. */
  get amount(): string {
    return formatUnits(BigInt(20_100_000 + this.#serial), 6);
  }

  get decimals(): number {
    return worldToken(this.cell.network ?? 56, this.symbol).decimals;
  }

  get units(): bigint {
    return parseUnits(this.amount, this.decimals);
  }

  /** What a withdrawal from venueone pays: its fee is inside. */
  get net(): bigint {
    return this.units - parseUnits("1", this.decimals);
  }

  get payout() {
    const isForeign = this.cell.direction.endsWith("another address");
    return { chainId: this.chainId, venue: this.venue, to: isForeign ? ALLOWED : this.address };
  }

  get tranId(): string {
    return `cell-${this.#serial}`;
  }

  ask(key = `cell-${this.#serial}`): Ask {
    const { cell } = this;
    const { walletId, address } = this.wallet;
    const headers = { "idempotency-key": key };
    const of = { headers, body: {} as Fields };
    const amount = this.amount;
    switch (cell.direction) {
      case "deposit at venueone":
      case "deposit at venuetwo": {
        const body = { walletIdOrAddress: walletId, tokenSymbol: this.symbol, amount, network: String(cell.network) };
        return { ...of, path: `/api/trading/${this.venue}/deposit`, body };
      }
      case "withdrawal from venueone to itself":
      case "withdrawal from venueone to another address": {
        const destination = cell.direction.endsWith("itself") ? address : ALLOWED;
        const body = { walletIdOrAddress: walletId, destination, amount, chainId: 42161 };
        return { path: "/api/trading/venueone/withdraw", body, headers: { ...headers, "x-wallet-id": walletId } };
      }
      case "withdrawal from venuetwo, spot":
      case "withdrawal from venuetwo, perp": {
        const raw = parseUnits(amount, worldToken(this.chainId, "USDT").decimals).toString();
        const common = { walletAddress: address, chainId: cell.network, asset: "USDT", amount: raw, receiver: address };
        const accountType = cell.direction.endsWith("spot") ? "spot" : "perp";
        return { ...of, path: "/api/trading/venuetwo/withdraw", body: { ...common, accountType } };
      }
      default: {
        const kindType = cell.direction === "spot to perp" ? "SPOT_FUTURE" : "FUTURE_SPOT";
        const body = { walletId, amount, asset: "USDT", kindType, clientTranId: this.tranId };
        return { ...of, path: "/api/venuetwo/wallet/transfer", body };
      }
    }
  }
}
