import { createHmac } from "node:crypto";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { buildAsyncApi } from "./asyncapi.js";
import { STREAM_EXAMPLES } from "./asyncapi-examples.js";
import { CLOSE_CODES, OP_WORDS } from "./stream.js";

type Node = Record<string, unknown>;

const document = buildAsyncApi();
const text = JSON.stringify(document);

function resolve(ref: unknown): unknown {
  if (typeof ref !== "string" || !ref.startsWith("#/")) return undefined;
  return ref
    .slice(2)
    .split("/")
    .reduce<unknown>((value, key) => (value as Node | undefined)?.[key], document);
}

/** The object a reference names; a message of a channel is itself a reference. */
function follow(node: unknown): Node {
  let target = node as Node;
  while (typeof target["$ref"] === "string") {
    const next = resolve(target["$ref"]);
    if (next === undefined) throw new Error(`no such part: ${target["$ref"]}`);
    target = next as Node;
  }
  return target;
}

describe("the AsyncAPI document", () => {
  it("has the parts of version 3.0 and no others at its top", () => {
    expect(document.asyncapi).toBe("3.0.0");
    expect(document.info).toMatchObject({ title: expect.any(String), version: "1.0.0" });
    expect(Object.keys(document).sort()).toEqual(
      ["asyncapi", "channels", "components", "defaultContentType", "info", "operations"].sort(),
    );
    for (const code of Object.keys(CLOSE_CODES)) expect(document.info["description"]).toContain(code);
  });

  it("has operations of the form that the version asks for", () => {
    const { stream } = document.channels as { stream: Node };
    expect(stream["address"]).toBe("/ws");
    for (const [name, operation] of Object.entries(document.operations)) {
      expect(Object.keys(operation).sort(), name).toEqual(
        [
          ...["action", "channel", "messages", "summary", ...(operation["action"] === "receive" ? ["reply"] : [])],
          ...(operation["security"] === undefined ? [] : ["security"]),
        ].sort(),
      );
      expect(["send", "receive"]).toContain(operation["action"]);
      expect(follow(operation["channel"])).toBe(stream);
      const reply = operation["reply"] as Node | undefined;
      if (reply !== undefined) expect(follow(reply["channel"])).toBe(stream);
      for (const message of [...(operation["messages"] as Node[]), ...((reply?.["messages"] ?? []) as Node[])]) {
        // The version wants references to messages of the operation's own channel.
        expect(message["$ref"]).toMatch(/^#\/channels\/stream\/messages\/\w+$/);
        expect(follow(message)["payload"]).toBeDefined();
      }
    }
  });

  it("names every message in the channel, once, and uses every one", () => {
    const inChannel = Object.keys((document.channels as { stream: { messages: object } }).stream.messages);
    expect(inChannel.sort()).toEqual(Object.keys(document.components.messages).sort());
    for (const name of inChannel) expect(text).toContain(`"#/channels/stream/messages/${name}"`);
  });

  it("resolves every reference inside itself", () => {
    for (const [, ref] of text.matchAll(/"\$ref":"([^"]+)"/g)) expect(resolve(ref), ref).toBeTypeOf("object");
    expect(text).not.toContain('"$id"');
  });

  it("describes every op of a client", () => {
    const received = Object.values(document.operations).filter((operation) => operation["action"] === "receive");
    const ops = received.flatMap((operation) =>
      (operation["messages"] as Node[]).map((message) => {
        const schema = follow(follow(message)["payload"]) as { properties: { op: { const: string } } };
        return schema.properties.op.const;
      }),
    );
    expect([...new Set(ops)].sort()).toEqual([...OP_WORDS].sort());
  });

  it("names the proof of a key at the operations that need one, by a scheme of the version, and at no other", () => {
    const schemes = Object.entries(document.components.securitySchemes);
    expect(schemes.map(([name]) => name).sort()).toEqual(["keySignature", "streamTicket"]);
    for (const [name, scheme] of schemes) {
      expect(scheme, name).toMatchObject({ type: "apiKey", in: "user", description: expect.any(String) });
      expect(Object.keys(scheme).sort()).toEqual(["description", "in", "type"]);
    }
    const proven = Object.entries(document.operations).filter(([, { security }]) => security !== undefined);
    for (const [, { security }] of proven)
      expect((security as Node[]).map(follow)).toEqual(schemes.map(([, scheme]) => scheme));
    const frames = (operation: Node) =>
      (operation["messages"] as Node[]).map(({ $ref }) => String($ref).split("/").at(-1));
    expect(proven.flatMap(([, operation]) => frames(operation)).sort()).toEqual([
      ...["CancelOnDisconnect", "OrdersUpdate", "PositionsUpdate", "SubscribeOrders", "SubscribePositions"],
      ...["SubscribeTransfers", "TransfersUpdate"],
    ]);
  });

  it("shows a frame of each proof and its answer, signed as docs/api-keys.md says with the secret of its vectors", () => {
    for (const name of ["Auth", "AuthByTicket", "Authenticated"]) expect(STREAM_EXAMPLES[name]?.length, name).toBe(1);
    const [auth] = STREAM_EXAMPLES["Auth"] as { timestamp: number; signature: string }[];
    const mac = createHmac("sha256", "sk_test_8Jx2").update(`${auth?.timestamp}GET/ws`).digest("hex");
    expect(auth?.signature).toBe(mac);
  });

  it("holds only JSON Schema that compiles, and examples that are valid", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true });
    ajv.addSchema(document, "doc");
    for (const [name, message] of Object.entries(document.components.messages)) {
      const validate = ajv.compile({ $ref: `doc#/components/schemas/${name}` });
      for (const { payload } of (message["examples"] ?? []) as { payload: unknown }[])
        expect(validate(payload), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
    expect(Object.keys(STREAM_EXAMPLES).filter((name) => !(name in document.components.messages))).toEqual([]);
  });
});
