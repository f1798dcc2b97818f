/** Both ends of the link with each other, over loopback. */
import { afterEach, describe, expect, it } from "vitest";
import type { Party } from "../../../engine/custody/mpc/base/parameters.js";
import type { Message } from "../../../engine/custody/mpc/wire/header.js";
import { F1_FIXED_BYTES, INTENT_BYTES_MAX } from "../../../engine/custody/mpc/wire/message-types.js";
import { bytesOf, closeOf, COSIGNER, frameOf, kindsFor, passPause, SERVICE, Stage, WALLET } from "./link-doubles.js";

const stage = new Stage();
afterEach(() => stage.end());

async function pair() {
  const cosigner = await stage.server();
  const service = stage.client(cosigner.port);
  await service.listener.until(() => service.listener.count("connected") === 1);
  await cosigner.listener.until(() => cosigner.listener.count("connected") === 1);
  return { service, cosigner };
}

/** One frame of each kind, and of F1 the shortest, the longest and two between. */
function framesFrom(party: Party): Message[] {
  const receiver = party === 0 ? 1 : 0;
  return kindsFor(receiver).flatMap(({ name, bytesMin }, index) => {
    const lengths = name === "f1" ? [bytesMin, 1_000, 65_536, F1_FIXED_BYTES + INTENT_BYTES_MAX] : [bytesMin];
    return lengths.map((length) => frameOf(name, party, { length, fill: index + 1 }));
  });
}

/** In their order for each wallet. */
function textsOf(messages: readonly Message[]): readonly string[] {
  const ofHello = (message: Message) => message.header.walletId.every((byte) => byte === 0);
  const sorted = [...messages.filter(ofHello), ...messages.filter((message) => !ofHello(message))];
  return sorted.map((message) => bytesOf(message).toString("latin1"));
}

describe("the link", () => {
  it("carries frames of every kind and length both ways at once, those of a wallet in order", async () => {
    const { service, cosigner } = await pair();
    const fromService = [...framesFrom(0), ...framesFrom(0).reverse(), ...framesFrom(0)];
    const fromCosigner = [...framesFrom(1), ...framesFrom(1).reverse(), ...framesFrom(1)];
    for (const message of fromService) service.link.send(message);
    for (const message of fromCosigner) cosigner.link.send(message);
    await cosigner.listener.until(() => cosigner.listener.messages.length === fromService.length);
    await service.listener.until(() => service.listener.messages.length === fromCosigner.length);
    expect(textsOf(cosigner.listener.messages)).toEqual(textsOf(fromService));
    expect(textsOf(service.listener.messages)).toEqual(textsOf(fromCosigner));
    expect(service.link.status()).toMatchObject({ framesOut: fromService.length, framesIn: fromCosigner.length });
    expect(cosigner.link.status()).toMatchObject({ framesOut: fromCosigner.length, framesIn: fromService.length });
  });

  it("lets no wallet wait for another: a frame whose handling takes long holds those of its own wallet alone", async () => {
    const { service, cosigner } = await pair();
    const other = Buffer.alloc(16, 9);
    const finishers: (() => void)[] = [];
    cosigner.listener.handle = ({ header }) =>
      other.equals(header.walletId) ? Promise.resolve() : new Promise((resolve) => finishers.push(resolve));
    const frames = [frameOf("f1", 0), frameOf("f3", 0), frameOf("f5", 0)];
    for (const message of frames) {
      service.link.send(message);
      service.link.send({ header: { ...message.header, walletId: other }, body: message.body });
    }
    const handed = () => cosigner.listener.messages.map(({ header }) => `${header.walletId[15]} ${header.seq}`);
    await cosigner.listener.until(() => handed().includes("9 5"));
    expect(handed()).toEqual(["15 1", "9 1", "9 3", "9 5"]);
    for (const seq of [3, 5]) {
      finishers.shift()?.();
      await cosigner.listener.until(() => handed().includes(`15 ${seq}`));
    }
    expect(handed().filter((line) => line.startsWith("15"))).toEqual(["15 1", "15 3", "15 5"]);
    expect(cosigner.link.status().waitingFrames).toBe(1);
    finishers.shift()?.();
    await expect.poll(() => cosigner.link.status().waitingFrames).toBe(0);
  });

  it("hands on one frame of a wallet at a time, the next when the one before it is handled", async () => {
    const { service, cosigner } = await pair();
    let running = 0;
    let runningMax = 0;
    cosigner.listener.handle = async () => {
      running++;
      runningMax = Math.max(runningMax, running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    };
    const frames = framesFrom(0).filter(({ header }) => WALLET.equals(header.walletId));
    for (const message of frames) service.link.send(message);
    await cosigner.listener.until(() => cosigner.listener.messages.length === frames.length);
    expect(runningMax).toBe(1);
  });

  it("has sent a body's bytes when `send` returns: it may be wiped", async () => {
    const { service, cosigner } = await pair();
    const message = frameOf("f3", 0, { fill: 7 });
    service.link.send(message);
    message.body.fill(0);
    await cosigner.listener.until(() => cosigner.listener.messages.length === 1);
    expect(cosigner.listener.messages[0]?.body.every((byte) => byte === 7)).toBe(true);
  });

  it("refuses to send a body of another length than its header names", async () => {
    const { service } = await pair();
    const { header } = frameOf("abort", 0);
    expect(() => service.link.send({ header, body: Buffer.alloc(3) })).toThrow(RangeError);
  });

  it("comes back when either side drops it, and answers with the frames of the new connection alone", async () => {
    const { service, cosigner } = await pair();
    for (const [round, side] of [service, cosigner, service].entries()) {
      side.link.drop();
      side.link.send(frameOf("freeze", side === service ? 0 : 1));
      await service.listener.until(() => service.listener.count("lost") === round + 1);
      await cosigner.listener.until(() => cosigner.listener.count("lost") === round + 1);
      passPause(service);
      await service.listener.until(() => service.listener.count("connected") === round + 2);
      await cosigner.listener.until(() => cosigner.listener.count("connected") === round + 2);
      service.link.send(frameOf("hello", 0));
      await cosigner.listener.until(() => cosigner.listener.messages.length === round + 1);
    }
    expect(service.listener.events).toEqual(["connected", ...Array(3).fill(["lost", "connected"]).flat()]);
    expect(cosigner.listener.messages.map(({ header }) => header.type)).toEqual([1, 1, 1]);
  });

  it("comes back when the co-signer was started again on its port", async () => {
    const { service, cosigner } = await pair();
    await cosigner.link.close();
    await service.listener.until(() => service.listener.count("lost") === 1);
    const again = await stage.server({ port: cosigner.port });
    passPause(service);
    await service.listener.until(() => service.listener.count("connected") === 2);
    await again.listener.until(() => again.listener.count("connected") === 1);
  });

  it("writes no key, no body and no wallet into its log", async () => {
    const { service, cosigner } = await pair();
    for (const message of framesFrom(0)) service.link.send(message);
    await cosigner.listener.until(() => cosigner.listener.messages.length === framesFrom(0).length);
    await closeOf(await stage.peer(cosigner.port, COSIGNER));
    await expect.poll(() => cosigner.link.status().problems).toEqual({ PIN: 1 });
    service.link.drop();
    await cosigner.listener.until(() => cosigner.listener.count("lost") === 1);
    const log = [...service.logger.lines, ...cosigner.logger.lines].join("\n");
    expect(log).toContain("custody.link_connected");
    expect(log).toContain("custody.stranger_closed");
    const keys = [SERVICE.key, COSIGNER.key].flatMap((key) => key.toString().split("\n").slice(1, 3));
    for (const secret of [...keys, WALLET.toString("hex"), "070707"]) expect(log).not.toContain(secret);
  });
});
