/** Transfers of server wallets: what frames fold into, and what a new connection sends again. */
import { describe, expect, it } from "vitest";
import { resumeSchema, subscribeTransfersSchema } from "../../schemas/stream.js";
import { compileValidator } from "../../schemas/validate.js";
import { createVirtualTime, FakeSocket } from "../test/virtual.js";
import { StreamClient, type SubscriptionView } from "./stream-client.js";
import { foldSnapshot, foldUpdate, type TransfersData } from "./topics.js";

const WALLET_ID = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const SUB = "transfers:0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266#00";

function transfer(transferId: string, state: string) {
  return { transferId, walletId: WALLET_ID, kind: "deposit", state, amount: "5" };
}

function folded(...updates: Record<string, unknown>[]): TransfersData {
  let fold = foldSnapshot("transfers", { transfers: [transfer("a", "broadcast"), transfer("b", "confirmed")] }, 0);
  for (const update of updates) {
    if (!fold.ok) throw new Error(fold.problem);
    fold = foldUpdate(fold.data, update, 0);
  }
  if (!fold.ok) throw new Error(fold.problem);
  return fold.data as TransfersData;
}

describe("the fold of a transfers subscription", () => {
  it("replaces whole transfers by id, keeps ended ones, and shows the last event", () => {
    expect(folded().event).toBe(null);
    const last = { event: "transfer.ended", transfer: transfer("a", "confirmed") };
    const data = folded({ event: "transfer.created", transfer: transfer("c", "created") }, last);
    expect([...data.transfers.values()].map(({ transferId, state }) => [transferId, state])).toEqual([
      ["a", "confirmed"],
      ["b", "confirmed"],
      ["c", "created"],
    ]);
    expect(data.event).toEqual(last);
  });

  it("leaves the view before it as it was", () => {
    const before = folded();
    foldUpdate(before, { event: "transfer.changed", transfer: transfer("a", "unknown") }, 0);
    expect(before.transfers.get("a")?.state).toBe("broadcast");
  });

  it.each([
    [{ event: "transfer.changed" }],
    [{ transfer: transfer("a", "failed") }],
    [{ event: "transfer.changed", transfer: transfer("", "failed") }],
    [{ event: "transfer.changed", transfer: { ...transfer("a", "failed"), state: 5 } }],
  ])("refuses %j", (update) => {
    expect(() => folded(update)).toThrow("malformed");
  });

  it.each([[{}], [{ transfers: "none" }], [{ transfers: [{ transferId: "a" }] }]])(
    "refuses the snapshot %j",
    (data) => {
      expect(foldSnapshot("transfers", data, 0)).toEqual({ ok: false, problem: "malformed" });
    },
  );
});

/** A client with a snapshot of one transfer. */
function subscribed(of: { readonly walletIdOrAddress?: string }) {
  const time = createVirtualTime();
  const sockets: FakeSocket[] = [];
  const client = new StreamClient({
    ...{ url: "ws://test/ws", clock: time, random: () => 0 },
    openSocket: (_, events) => {
      const socket = new FakeSocket(events);
      sockets.push(socket);
      return socket;
    },
  });
  const views: SubscriptionView[] = [];
  client.subscribe({ topic: "transfers", ...of }, { changed: (view) => void views.push(view) });
  client.start();
  const first = sockets[0] as FakeSocket;
  first.opened();
  const [ask] = first.take();
  first.says({ type: "subscribed", id: ask?.id, subs: [{ sub: SUB, epoch: "e", seq: 0 }] });
  const data = { transfers: [transfer("a", "signed")] };
  first.says({ type: "snapshot", sub: SUB, epoch: "e", seq: 1, ts: 1, data });
  return { ask, first, sockets, time, views };
}

describe("the client of a transfers subscription", () => {
  it("names its wallet, and shows what it has as stale once it is cut", () => {
    const { ask, first, views } = subscribed({ walletIdOrAddress: WALLET_ID });
    expect(compileValidator(subscribeTransfersSchema)(ask)).toMatchObject({ ok: true });
    expect(ask).toMatchObject({ op: "subscribe", topic: "transfers", walletIdOrAddress: WALLET_ID });
    first.cut();
    expect(views.at(-1)).toMatchObject({ current: false, staleReason: "disconnected" });
  });

  it("takes what it missed from the next connection", () => {
    const { ask, first, sockets, time, views } = subscribed({});
    expect(ask).not.toHaveProperty("walletIdOrAddress");
    first.cut();
    time.advance(1_000);
    const second = sockets[1] as FakeSocket;
    second.opened();
    const resume = second.take().find(({ op }) => op === "resume");
    expect(compileValidator(resumeSchema)(resume)).toMatchObject({ ok: true });
    expect(resume?.subs).toEqual([{ sub: SUB, epoch: "e", seq: 1 }]);
    second.says({ type: "resumed", id: resume?.id, subs: [{ sub: SUB, epoch: "e", seq: 1, missed: false }] });
    const update = { event: "transfer.ended", transfer: transfer("a", "confirmed") };
    second.says({ type: "update", sub: SUB, epoch: "e", seq: 2, prevSeq: 1, ts: 2, data: update });
    const data = views.at(-1)?.data as TransfersData;
    expect([views.at(-1)?.current, data.event?.event, data.transfers.get("a")?.state]).toEqual([
      ...[true, "transfer.ended", "confirmed"],
    ]);
  });
});
