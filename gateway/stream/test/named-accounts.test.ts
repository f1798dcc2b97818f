/** Which account a subscription shows: the requested one, or the one that the credentials name, under its own name. */
import { expect, it } from "vitest";
import { VirtualStream } from "./virtual-stream.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";

it("a key is opened for the requested wallet, and a different account in the credentials is shown under its own name", async () => {
  const stream = new VirtualStream();
  const { one, two } = stream.accounts;
  const opened: unknown[] = [];
  for (const { room } of [one, two]) {
    const { openSession } = room;
    Object.assign(room, {
      openSession: (raw: unknown) => {
        opened.push(raw);
        return openSession(raw, null);
      },
    });
  }
  const [alice, bob] = [one.addAccount("alice"), two.addAccount("bob")];
  alice.hold("BTC", 10);
  bob.hold("BTC", 5);
  const venueone = { privateKey: alice.id, apiKey: alice.id, apiSecret: alice.secret };
  const venuetwo = { apiKey: bob.id, apiSecret: bob.secret, walletAddress: OTHER };
  const client = stream.connect();
  client.op({
    op: "subscribe",
    topic: "positions",
    walletAddress: WALLET,
    exchanges: ["venueone", "venuetwo"],
    credentials: { venueone, venuetwo },
  });
  await stream.advanceAsync(200);
  // The room refuses a key of a different account: its positions would otherwise be shown under the wrong name.
  expect(opened).toEqual([{ ...venueone, walletAddress: WALLET }, venuetwo]);
  const [fold] = client.folds.values();
  expect([...(fold?.rows.values() ?? [])].map((row) => [row["exchange"], row["walletAddress"]])).toEqual([
    ["venueone", WALLET],
    ["venuetwo", OTHER],
  ]);
});
