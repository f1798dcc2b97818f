/** A switch of a server wallet whose key is followed by another before it fires. */
import { expect, it } from "vitest";
import { StoredSecret, storedSecretIn } from "../../key-registrar.js";
import type { AccountSession, OpenSession, VenueRoom } from "../../ports.js";
import { isClosed } from "../test/fake-session.js";
import { KeptSession } from "./kept-session.js";
import { createDesk, type DeskHarness } from "./test/desk-harness.js";

const LIMIT = { type: "LIMIT", price: "95000" } as const;

/** Keys of one wallet: `live` are those that open, the last of them trades. */
class WalletKeys {
  readonly live = new Set<string>();
  /** Sessions that cancelled everything, by their key. */
  readonly cancelledBy: string[] = [];
  readonly scheduledBy: string[] = [];
  readonly sessions: AccountSession[] = [];

  block(name: string): unknown {
    const secret = new StoredSecret(
      name,
      () => (this.live.has(name) ? Buffer.alloc(32, 1) : null),
      () => {
        const last = [...this.live].at(-1);
        return last === undefined ? null : this.block(last);
      },
    );
    return { account: "acct", secret, scope: name };
  }

  room(room: VenueRoom): VenueRoom {
    const { orders } = room;
    return {
      ...room,
      openSession: (raw, payer) => {
        const opened = this.#opened(room, raw, payer);
        if (opened.ok) this.sessions.push(opened.session);
        return opened;
      },
      orders: {
        ...orders,
        cancelAll: (session, ...rest) => {
          this.cancelledBy.push(session.accountScope ?? "");
          expect(isClosed(session)).toBe(false);
          return (orders.cancelAll as NonNullable<typeof orders.cancelAll>).call(orders, session, ...rest);
        },
        scheduleCancel: (session) => {
          this.scheduledBy.push(session.accountScope ?? "");
          return Promise.resolve({ outcome: "accepted" });
        },
      },
    };
  }

  #opened(room: VenueRoom, raw: unknown, payer: string | null): OpenSession {
    const open = () => room.openSession({ ...(raw as object), secret: "opened" }, payer);
    const secret = storedSecretIn(raw);
    return secret === null ? open() : (secret.use(open) ?? { ok: false, problem: "gone" });
  }
}

async function armedWith(keys: WalletKeys, name: string): Promise<{ harness: DeskHarness; switchId: string }> {
  const harness = await createDesk({ mutateRoom: (room) => (room.venue === "venueone" ? keys.room(room) : room) });
  await harness.order(LIMIT);
  const request = { venue: "venueone", credentials: keys.block(name), payer: null, timeoutMs: 10_000 } as const;
  const answer = await harness.run(harness.desk.armSwitch(request, null));
  if (!answer.ok) throw new Error(answer.code);
  return { harness, switchId: answer.armed.switchId };
}

const openCount = ({ sessions }: WalletKeys) => sessions.filter((session) => !isClosed(session)).length;

it("fires, and is armed at its venue, with the key that trades then, and closes its sessions", async () => {
  const keys = new WalletKeys();
  keys.live.add("first");
  const { harness, switchId } = await armedWith(keys, "first");
  keys.live.add("second");
  await harness.clock.advanceAsync(5_000);
  await harness.run(harness.desk.heartbeat(switchId, null));
  keys.live.clear();
  keys.live.add("third");
  await harness.clock.advanceAsync(10_000);
  expect([...new Set(keys.scheduledBy)]).toEqual(["first", "second", "third"]);
  expect(keys.cancelledBy).toEqual(["third"]);
  expect(harness.venue.log.map(({ order }) => order?.status)).toEqual(["CANCELED"]);
  await harness.clock.advanceAsync(60_000);
  expect([harness.desk.status().armedSwitchCount, openCount(keys)]).toEqual([0, 0]);
});

it("takes the key that follows between two tries of a firing", async () => {
  const keys = new WalletKeys();
  keys.live.add("first");
  const { harness } = await armedWith(keys, "first");
  harness.calls.cancelAllFates.push("unknown", "unknown");
  await harness.clock.advanceAsync(10_100);
  keys.live.add("second");
  keys.live.delete("first");
  await harness.clock.advanceAsync(5_000);
  expect(keys.cancelledBy).toEqual(["first", "second", "second"]);
});

it("keeps the session that it has where the wallet has no key any more", async () => {
  const keys = new WalletKeys();
  keys.live.add("first");
  const { harness } = await armedWith(keys, "first");
  keys.live.clear();
  await harness.clock.advanceAsync(10_100);
  expect(keys.cancelledBy).toEqual(["first"]);
});

it("opens none once it is closed, though a call may still ask for it", async () => {
  const keys = new WalletKeys();
  const { room } = await roomOf(keys);
  keys.live.add("first");
  const opened = room.openSession(keys.block("first"), null);
  if (!opened.ok) throw new Error(opened.problem);
  const kept = new KeptSession(room, opened.session, keys.block("first"));
  kept.close();
  keys.live.add("second");
  expect([isClosed(kept.present), keys.sessions.length, openCount(keys)]).toEqual([true, 1, 0]);
});

/** The room by which a desk with these keys trades. */
async function roomOf(keys: WalletKeys): Promise<{ readonly room: VenueRoom }> {
  let room: VenueRoom | null = null;
  await createDesk({
    mutateRoom: (one) => {
      if (one.venue !== "venueone") return one;
      room = keys.room(one);
      return room;
    },
  });
  if (room === null) throw new Error("no room");
  return { room };
}
