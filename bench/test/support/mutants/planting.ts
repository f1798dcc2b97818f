/**
 * Plants faults for some traders only: one service, right for everybody else, is wrong for each of them in one thing.
 * The secret or the address that opened a session shows whose it is.
 */
import { OrderFollows } from "../../../../engine/orders/follow/order-follows.js";
import type { OrderSender, VenueRoom } from "../../../../engine/ports.js";
import type { CheckName } from "../judge/checks.js";
import { FOUR_VENUES, type FourTrader } from "../four-venues.js";
import type { SceneKind } from "../scenes/scenes.js";
import type { TradeClient } from "../trade-trial.js";

/** The fault of one trader, made once for each: its memory is that trader's. */
interface Wrong {
  /** Returns a room as this trader gets it. */
  readonly room?: (room: VenueRoom) => VenueRoom;
  /** Wraps the path to the service and back. */
  readonly client?: (client: TradeClient) => TradeClient;
  /** Does not follow its orders once they rest. */
  readonly isUnfollowed?: true;
}

export interface Plant {
  readonly name: string;
  /** The scene that its traders play. */
  readonly scene: SceneKind;
  /** The check for this fault, then those that see it too. */
  readonly checks: readonly [CheckName, ...CheckName[]];
  /** Text that its own check finds, where the venue or the route matters. */
  readonly seen?: RegExp;
  readonly wrong: () => Wrong;
}

type Place = OrderSender["place"];

/** Sends every order of a room as `mutate` returns it. */
export function placing(mutate: (place: Place) => Place): (room: VenueRoom) => VenueRoom {
  return (room) =>
    replaced(room, {
      orders: (orders) => replaced(orders, { place: (place) => mutate(place.bind(orders)) }),
    });
}

type Replacements<T> = { readonly [Name in keyof T]?: (original: T[Name]) => T[Name] };

/** Returns the object with some members replaced; the rest keep their own `this`. */
export function replaced<T extends object>(target: T, replacements: Replacements<T>): T {
  const members = new Map<PropertyKey, unknown>();
  for (const name of Object.keys(replacements) as (keyof T)[])
    members.set(name, (replacements[name] as (original: T[keyof T]) => unknown)(target[name]));
  return new Proxy(target, {
    get(_, name) {
      if (members.has(name)) return members.get(name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The methods of a room whose first argument is a session. */
const BY_SESSION = ["reader", "orders", "accountNames", "settings", "history"] as const;

export class Planting {
  readonly #byLabel = new Map<string, Wrong>();
  readonly #labelOf = new Map<string, string>();

  add(trader: FourTrader, plant: Plant): void {
    this.#byLabel.set(trader.label, plant.wrong());
    for (const secret of trader.secrets) this.#labelOf.set(secret, trader.label);
    for (const block of trader.moreAgents)
      for (const secret of Object.values(block)) this.#labelOf.set(bare(secret), trader.label);
    for (const venue of FOUR_VENUES) this.#labelOf.set(trader.accountIds[venue], trader.label);
  }

  client(trader: FourTrader, client: TradeClient): TradeClient {
    return this.#byLabel.get(trader.label)?.client?.(client) ?? client;
  }

  /** Plants the fault from now on; the returned function ends it. */
  unfollow(): () => void {
    const { consider } = OrderFollows.prototype;
    const isUnfollowed = (credentials: unknown): boolean => {
      const label = this.#ownerOf(credentials);
      return label !== null && this.#byLabel.get(label)?.isUnfollowed === true;
    };
    OrderFollows.prototype.consider = function (run, recordKey, accountOf) {
      consider.call(this, run, recordKey, (venue) => {
        const account = accountOf(venue);
        return account === null || isUnfollowed(account.credentials) ? null : account;
      });
    };
    return () => {
      OrderFollows.prototype.consider = consider;
    };
  }

  rooms(rooms: readonly VenueRoom[]): readonly VenueRoom[] {
    return rooms.map((room) => this.#planted(room));
  }

  #planted(room: VenueRoom): VenueRoom {
    const wrongRooms = new Map<string, VenueRoom>();
    for (const [label, { room: wrong }] of this.#byLabel) if (wrong !== undefined) wrongRooms.set(label, wrong(room));
    const roomOf = new WeakMap<object, VenueRoom>();
    const opened = <T extends { readonly ok: boolean }>(result: T, raw: unknown): T => {
      const label = this.#ownerOf(raw);
      const wrong = label === null ? undefined : wrongRooms.get(label);
      const { session } = result as { readonly session?: object };
      if (session !== undefined && wrong !== undefined) roomOf.set(session, wrong);
      return result;
    };
    const parts = new Map<PropertyKey, unknown>();
    for (const name of BY_SESSION) {
      const part = room[name];
      if (part === undefined) continue;
      parts.set(
        name,
        dispatching(part, (session) => roomOf.get(session)?.[name]),
      );
    }
    parts.set("openSession", (raw: unknown, payer: string | null) => opened(room.openSession(raw, payer), raw));
    const { openAddress } = room;
    if (openAddress !== undefined)
      parts.set("openAddress", (address: string, payer: string | null) =>
        opened(openAddress.call(room, address, payer), { address }),
      );
    return new Proxy(room, {
      get(_, name) {
        if (parts.has(name)) return parts.get(name);
        const value: unknown = Reflect.get(room, name, room);
        return typeof value === "function" ? value.bind(room) : value;
      },
    });
  }

  #ownerOf(raw: unknown): string | null {
    for (const value of Object.values((raw ?? {}) as Record<string, unknown>)) {
      const label = this.#labelOf.get(bare(value));
      if (label !== undefined) return label;
    }
    return null;
  }
}

function bare(value: unknown): string {
  return String(value).replace(/^0x/, "");
}

/** Directs methods to the part that `wrongOf` has for their first argument, where it has one. */
function dispatching<T extends object>(part: T, wrongOf: (session: object) => object | undefined): T {
  return new Proxy(part, {
    get(_, name) {
      const value: unknown = Reflect.get(part, name, part);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const [first] = args;
        const wrong = typeof first === "object" && first !== null ? wrongOf(first) : undefined;
        const method: unknown = wrong === undefined ? value : Reflect.get(wrong, name, wrong);
        return (method as typeof value).apply(wrong ?? part, args);
      };
    },
  });
}
