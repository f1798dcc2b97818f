/**
 * Account channels of the socket (fact sheet 9.3): who listens to what, a snapshot on subscribe, and after each round
 * of events one update per channel with what changed.
 */
import type { SimSocket } from "../../core/server/server-types.js";
import { TopicBoard } from "../../core/server/topic-board.js";
import { AccountFrames } from "./account-frames.js";
import { RoundChanges } from "./round-changes.js";
import type { VenueAccount } from "../records/accounts.js";
import type { AccountChannel } from "../market/channels.js";
import type { VenuethreeContext } from "../orders/context.js";
import { printJson, type Row } from "../wire/json.js";
import type { EventListener } from "../orders/order-events.js";
import type { VenueOrder } from "../orders/orders.js";
import type { TradeSides } from "../orders/trade-sides.js";
import type { StoredTransaction } from "../orders/transactions.js";

export class AccountStreams implements EventListener {
  readonly board = new TopicBoard();
  readonly #frames: AccountFrames;
  readonly #channels = new Map<string, AccountChannel>();
  /** The same by account, so that a round costs what its accounts listen to. */
  readonly #listened = new Map<VenueAccount, Map<string, AccountChannel>>();
  readonly #changes = new RoundChanges();
  /** Statistics as each channel last showed them. They move with the mark: only a difference is published. */
  readonly #shownStats = new Map<string, string>();

  /** The context is complete only after this constructor. */
  constructor(context: () => VenuethreeContext) {
    this.#frames = new AccountFrames(context);
  }

  subscribe(socket: SimSocket, channel: AccountChannel): void {
    this.#channels.set(channel.name, channel);
    const own = this.#listened.get(channel.account) ?? new Map<string, AccountChannel>();
    this.#listened.set(channel.account, own.set(channel.name, channel));
    this.board.add(socket, channel.name);
    const fields = this.#frames.first(channel);
    this.#rememberStats(channel, fields);
    const frame = this.#frames.frame(channel, "subscribed", fields);
    socket.push("user", `subscribed/${channel.name}`, printJson(frame), false);
  }

  unsubscribe(socket: SimSocket, name: string): boolean {
    const wasOn = this.board.remove(socket, name);
    this.#forgetUnwanted(name);
    return wasOn;
  }

  drop(socket: SimSocket): void {
    const names = [...this.board.of(socket)];
    this.board.drop(socket);
    for (const name of names) this.#forgetUnwanted(name);
  }

  /** Different accounts that a connection would follow with this one. */
  accountCountWith(socket: SimSocket, account: VenueAccount): number {
    const followed = [...this.board.of(socket)].map((name) => this.#channels.get(name)?.account);
    return new Set([...followed, account]).size;
  }

  /* ---------------------------------------------------------------- events */

  onOrder(order: VenueOrder): void {
    this.#changes.of(order.account).orders.set(order.index, order);
  }

  onPrint(account: VenueAccount, print: TradeSides): void {
    this.#changes.of(account).prints.add(print);
  }

  onPosition(account: VenueAccount, marketId: number): void {
    this.#changes.of(account).positions.add(marketId);
  }

  onCash(account: VenueAccount): void {
    this.#changes.of(account).hasCash = true;
  }

  onLiquidated(account: VenueAccount, order: VenueOrder): void {
    this.#changes.of(account).liquidated.push(order);
  }

  onTransaction(stored: StoredTransaction): void {
    this.#changes.of(stored.account).transactions.push(stored);
  }

  flush(): void {
    for (const [account, changes] of this.#changes.take()) {
      // A push that cuts its socket changes the map: walk a copy.
      for (const channel of [...(this.#listened.get(account)?.values() ?? [])])
        for (const fields of this.#frames.updates(channel, changes)) this.#publish(channel, fields);
    }
  }

  /** Publishes statistics that differ from those last shown; called once per interval, since they follow the mark. */
  pushStats(): void {
    for (const name of [...this.board.topics]) {
      const channel = this.#channels.get(name);
      if (channel?.kind !== "user_stats") continue;
      const fields = this.#frames.first(channel);
      if (this.#shownStats.get(name) !== JSON.stringify(fields.stats)) this.#publish(channel, fields);
    }
  }

  #publish(channel: AccountChannel, fields: Row): void {
    this.#rememberStats(channel, fields);
    const frame = this.#frames.frame(channel, "update", fields);
    this.board.publish(channel.name, `update/${channel.name}`, printJson(frame), false, "user");
  }

  #rememberStats({ kind, name }: AccountChannel, fields: Row): void {
    if (kind === "user_stats") this.#shownStats.set(name, JSON.stringify(fields.stats));
  }

  #forgetUnwanted(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || this.board.isWanted(name)) return;
    const own = this.#listened.get(channel.account);
    own?.delete(name);
    if (own?.size === 0) this.#listened.delete(channel.account);
    this.#channels.delete(name);
    this.#shownStats.delete(name);
  }
}
