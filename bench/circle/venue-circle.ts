/** One wallet's way through one venue and back. */
import { randomBytes } from "node:crypto";
import { NATIVE_VENUE, WALLET_VENUE } from "../../schemas/venues.js";
import { type CircleVenue, type Held, heldText, type Plan, PLANS, readHeld } from "./held.js";
import {
  type Atto,
  type CircleSums,
  type Fill,
  floorAtto,
  parseAtto,
  printAtto,
  rawUnits,
  type TradeSums,
  tradeSums,
} from "./sums.js";
import { CircleError, type Fields, type User } from "./user.js";

const DEPOSIT = "250.5";
/** From the spot account, where there is one, to the one that trades. */
const ACROSS = "150";
const SIZE = "0.001";

interface Wallet {
  readonly walletId: string;
  readonly address: string;
  readonly userId: string;
}

export interface VenueCircle {
  readonly asset: string;
  readonly coin: string;
  readonly sums: CircleSums;
}

export async function venueCircle(user: User, venue: CircleVenue, say: (line: string) => void): Promise<VenueCircle> {
  const { asset, coin } = PLANS[venue];
  const trip = new Trip(user, venue, say);
  return { asset, coin, sums: await trip.run() };
}

class Trip {
  readonly #user: User;
  readonly #venue: CircleVenue;
  readonly #plan: Plan;
  readonly #say: (line: string) => void;
  #wallet: Wallet = { walletId: "", address: "", userId: "" };
  #decimals = 0;

  constructor(user: User, venue: CircleVenue, say: (line: string) => void) {
    this.#user = user;
    this.#venue = venue;
    this.#plan = PLANS[venue];
    this.#say = say;
  }

  async run(): Promise<CircleSums> {
    const before = await this.#create();
    const isNative = this.#venue === NATIVE_VENUE;
    // One venue knows a wallet from its first deposit on; the other takes the key of one that it has never seen.
    if (isNative) await this.#register();
    const transferId = await this.#deposit();
    if (!isNative) await this.#register();
    const deposit = await this.#credited(transferId);
    if (isNative) await this.#transfer();
    const { trades, funding } = await this.#trade();
    const { paid, fees, left, after } = await this.#withdrawAll(before);
    const gas = (deposit["steps"] as readonly Fields[]).reduce(
      (sum, step) => sum + parseAtto(String(step["gasCost"])),
      0n,
    );
    return {
      token: { before: before.token, after: after.token },
      coins: { before: before.coins, after: after.coins },
      ...{ deposited: parseAtto(DEPOSIT), withdrawn: paid, withdrawalFees: fees, left, gas, trades, funding },
      digits: this.#plan.digits,
    };
  }

  async #create(): Promise<Held> {
    const userId = `circle-${randomBytes(4).toString("hex")}`;
    const { walletId, address } = await this.#user.act("/api/wallets", { userId });
    this.#wallet = { userId, walletId: String(walletId), address: String(address) };
    this.#say(`${this.#venue}: wallet ${String(walletId)} of ${userId}, ${String(address)}`);
    // The demo gives it tokens and coins for gas.
    const held = await this.#user.until("money of the new wallet", async () => {
      const now = await this.#held();
      return now.token >= parseAtto(DEPOSIT) && now.coins > 0n ? now : null;
    });
    this.#say(`    ${heldText(this.#venue, held)}`);
    return held;
  }

  async #register(): Promise<void> {
    const { data } = await this.#user.act(`/api/trading/${this.#venue}/apikey`, {
      walletIdOrAddress: this.#wallet.walletId,
    });
    const { apiWalletAddress, signerAddress } = data as Fields;
    await this.#step(`key registered: ${String(signerAddress ?? apiWalletAddress)}`);
  }

  async #deposit(): Promise<string> {
    const { asset, network } = this.#plan;
    const body = { walletIdOrAddress: this.#wallet.walletId, tokenSymbol: asset, amount: DEPOSIT, network };
    const path = `/api/trading/${this.#venue}/deposit`;
    const dry = (await this.#user.act(path, { ...body, dryRun: true }))["data"] as Fields;
    const { minimum, steps, gas } = dry["check"] as Fields;
    this.#say(
      `  dry run: minimum ${String(minimum)}, ${(steps as string[]).join(" and ")}, gas up to ${String((gas as Fields)["needed"])}`,
    );
    const done = (await this.#user.act(path, body))["data"] as Fields;
    this.#decimals = Number(done["decimals"]);
    await this.#step(`deposit ${DEPOSIT} ${asset}: transfer ${String(done["transferId"])}, ${String(done["txHash"])}`);
    return String(done["transferId"]);
  }

  /** Final on its chain, and the venue has it. */
  async #credited(transferId: string): Promise<Fields> {
    const row = await this.#ended(transferId, (one) => one["state"] === "confirmed" && one["venueId"] !== null);
    await this.#step(`deposit confirmed and credited: ${this.#venue}'s id ${String(row["venueId"])}`);
    return row;
  }

  async #transfer(): Promise<void> {
    const { walletId } = this.#wallet;
    const body = { walletId, asset: this.#plan.asset, amount: ACROSS, kindType: "SPOT_FUTURE" };
    const { data } = await this.#user.act(`/api/${NATIVE_VENUE}/wallet/transfer`, body);
    const { tranId, transferId, status } = data as Fields;
    if (status !== "SUCCESS") await this.#ended(String(transferId), (row) => row["state"] === "confirmed");
    await this.#step(
      `${ACROSS} from spot to perp: transfer ${String(transferId)}, ${this.#venue}'s id ${String(tranId)}`,
    );
  }

  async #trade(): Promise<{ readonly trades: TradeSums; readonly funding: Atto }> {
    const { walletId, address } = this.#wallet;
    const headers = { "x-wallet-id": walletId };
    const bought = await this.#order("BUY", headers);
    await this.#step(`bought ${SIZE} BTC: ${bought}`);
    const sold = await this.#order("SELL", headers);
    const read = async (what: "fills" | "funding") => {
      const path = `/api/trading/${this.#venue}/${what}/${address}`;
      return ((await this.#user.read(path, headers))["data"] as Fields)[what] as readonly Fields[];
    };
    const fills = await this.#user.until("both fills", async () => {
      const rows = (await read("fills")) as unknown as readonly Fill[];
      const sums = rows.reduce(
        (sum, { side, quantity }) => sum + (side === "BUY" ? 1n : -1n) * parseAtto(quantity),
        0n,
      );
      return rows.length >= 2 && sums === 0n ? rows : null;
    });
    const funding = (await read("funding")).reduce((sum, { amount }) => sum + parseAtto(String(amount)), 0n);
    const trades = tradeSums(fills, await this.#takerFeeBps(), this.#plan.digits);
    await this.#step(
      `sold ${SIZE} BTC: ${sold}; result ${printAtto(trades.result)}, fees ${printAtto(trades.printedFees)} as the venue prints them`,
    );
    return { trades, funding };
  }

  async #takerFeeBps(): Promise<string> {
    const { data } = await this.#user.read("/api/instruments");
    const listed = (data as { readonly instruments: readonly Fields[] }).instruments;
    const found = listed.find(({ exchange, symbol }) => exchange === this.#venue && symbol === "BTC");
    return String(found?.["takerFeeBps"]);
  }

  async #order(side: "BUY" | "SELL", headers: Readonly<Record<string, string>>): Promise<string> {
    const body = { symbol: "BTC", side, type: "MARKET", quantity: SIZE, reduceOnly: side === "SELL" };
    const { userId } = this.#wallet;
    const reply = await this.#user.act(
      `/api/trading/${this.#venue}/orders`,
      { userId, ...body, ...(this.#venue === WALLET_VENUE ? { price: await this.#worst(side) } : {}) },
      headers,
    );
    const { data = reply } = reply as { readonly data?: Fields };
    return `order ${String((data as Fields)["orderId"])}`;
  }

  /** Orders there name their worst price. */
  async #worst(side: "BUY" | "SELL"): Promise<string> {
    const { data } = await this.#user.read(`/api/trading/${WALLET_VENUE}/ticker/BTC`);
    const [whole = "0"] = String((data as Fields)["markPrice"]).split(".");
    return String(side === "BUY" ? (BigInt(whole) * 101n) / 100n : (BigInt(whole) * 99n) / 100n);
  }

  async #withdrawAll(
    before: Held,
  ): Promise<{ readonly paid: Atto; readonly fees: Atto; readonly left: Atto; readonly after: Held }> {
    let [paid, fees] = [0n, 0n];
    // The token may have more, and the venue takes no more than it shows.
    const places = Math.min(this.#decimals, this.#plan.digits);
    for (const account of this.#plan.accounts) {
      const { atVenue } = await this.#held();
      // Half of it: what is asked for has to leave room for the fee, which is not known yet.
      const terms = await this.#withdraw(account, floorAtto((atVenue[account] ?? 0n) / 2n, places), true);
      const fee = parseAtto(String(terms["fee"]));
      const isInside = terms["feeIsInside"] === true;
      const free = parseAtto(String((terms["check"] as Fields)["available"]));
      const amount = floorAtto(free - (isInside ? 0n : fee), places);
      const done = await this.#withdraw(account, amount, false);
      paid += amount - (isInside ? fee : 0n);
      fees += fee;
      await this.#ended(String(done["transferId"]), (row) => row["payout"] === "completed");
      const due = before.token - parseAtto(DEPOSIT) + paid;
      await this.#user.until("the money back on chain", async () => ((await this.#held()).token >= due ? true : null));
      await this.#step(
        `withdrawn ${printAtto(amount)} from ${account}, fee ${printAtto(fee)}: transfer ${String(done["transferId"])}, ${this.#venue}'s id ${String(done["withdrawalId"])}`,
      );
    }
    const after = await this.#held();
    const left = Object.values(after.atVenue).reduce((sum, one) => sum + one, 0n);
    return { paid, fees, left, after };
  }

  async #withdraw(account: "spot" | "perp", amount: Atto, dryRun: boolean): Promise<Fields> {
    const { walletId, address } = this.#wallet;
    const { chainId, asset } = this.#plan;
    const common = { chainId, ...(dryRun ? { dryRun } : {}) };
    const reply =
      this.#venue === NATIVE_VENUE
        ? await this.#user.act(`/api/trading/${NATIVE_VENUE}/withdraw`, {
            ...{ walletAddress: address, asset, receiver: address, accountType: account, ...common },
            amount: rawUnits(amount, this.#decimals),
          })
        : await this.#user.act(
            `/api/trading/${WALLET_VENUE}/withdraw`,
            { walletIdOrAddress: walletId, destination: address, amount: printAtto(amount), ...common },
            { "x-wallet-id": walletId },
          );
    return reply["data"] as Fields;
  }

  #ended(transferId: string, holds: (row: Fields) => boolean): Promise<Fields> {
    return this.#user.until(`transfer ${transferId}`, async () => {
      const row = (await this.#user.read(`/api/transfers/${transferId}`))["data"] as Fields;
      if (row["state"] === "failed") throw new CircleError(`transfer ${transferId} failed: ${String(row["reason"])}`);
      return holds(row) ? row : null;
    });
  }

  async #step(text: string): Promise<void> {
    this.#say(`  ${text}`);
    this.#say(`    ${heldText(this.#venue, await this.#held())}`);
  }

  #held(): Promise<Held> {
    return readHeld(this.#user, this.#venue, this.#wallet.walletId);
  }
}
