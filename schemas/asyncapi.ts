/**
 * The AsyncAPI 3.0 document of the stream, built from the schemas that validate what clients send and that the
 * tests judge every frame by; nothing in it is written a second time. `receive` and `send` are the service's view.
 */
import type { TSchema } from "@sinclair/typebox";
import { STREAM_EXAMPLES } from "./asyncapi-examples.js";
import { component, INTERFACE_VERSION } from "./openapi.js";
import {
  authenticatedSchema,
  authSchema,
  authTicketSchema,
  cancelOnDisconnectSchema,
  CLOSE_CODES,
  disconnectSwitchesSchema,
  laggingSchema,
  noticeSchema,
  pingSchema,
  pongSchema,
  resumedSchema,
  resumeSchema,
  resyncSchema,
  streamErrorSchema,
  subscribeBookSchema,
  subscribedSchema,
  subscribeOrdersSchema,
  subscribePositionsSchema,
  subscribeStatusSchema,
  subscribeTickerSchema,
  subscribeTransfersSchema,
  unsubscribedSchema,
  unsubscribeSchema,
} from "./stream.js";
import {
  ordersSnapshotSchema,
  ordersUpdateSchema,
  positionsSnapshotSchema,
  positionsUpdateSchema,
} from "./stream-accounts.js";
import {
  bookSnapshotSchema,
  bookUpdateSchema,
  heartbeatSchema,
  statusSnapshotSchema,
  statusUpdateSchema,
  tickerSnapshotSchema,
  tickerUpdateSchema,
} from "./stream-data.js";
import { transfersSnapshotSchema, transfersUpdateSchema } from "./stream-transfers.js";
import { TICKER_SCHEMAS } from "./ticker.js";

type Json = Readonly<Record<string, unknown>>;

export interface AsyncApiDocument extends Json {
  readonly asyncapi: string;
  readonly info: Json;
  readonly channels: Readonly<Record<string, Json>>;
  readonly operations: Readonly<Record<string, Json>>;
  readonly components: {
    readonly messages: Readonly<Record<string, Json>>;
    readonly schemas: Readonly<Record<string, Json>>;
    readonly securitySchemes: Readonly<Record<string, Json>>;
  };
}

/** Where the stream is served. */
export const STREAM_PATH = "/ws";

/**
 * Ways to prove a key, by the first frame of a connection: the version has no scheme for a frame, so what is to be sent
 * is in words and in the message.
 */
const SECURITY_SCHEMES: Readonly<Record<string, Json>> = {
  keySignature: {
    type: "apiKey",
    in: "user",
    description:
      "An `auth` frame (message `Auth`) before the first private one: the key's id, Unix ms, and the HMAC-SHA256 of timestamp, `GET` and the stream's path with the key's secret. A signature is accepted once. Not needed in public mode.",
  },
  streamTicket: {
    type: "apiKey",
    in: "user",
    description:
      "An `auth` frame (message `AuthByTicket`) with a ticket of `POST /api/stream/ticket` in place of the signature: it works once, for 30 s, from the address that asked for it.",
  },
};

const PROOF: readonly Json[] = Object.keys(SECURITY_SCHEMES).map((name) => ({
  $ref: `#/components/securitySchemes/${name}`,
}));

interface OperationRow {
  readonly summary: string;
  /** Needs a proven key, outside public mode. */
  readonly isPrivate?: boolean;
  readonly request: readonly TSchema[];
  /** Direct answers; an error is always one more. */
  readonly answers: readonly TSchema[];
}

const PUBLIC_SNAPSHOTS: readonly TSchema[] = [tickerSnapshotSchema, bookSnapshotSchema, statusSnapshotSchema];
const PRIVATE_SNAPSHOTS: readonly TSchema[] = [positionsSnapshotSchema, ordersSnapshotSchema, transfersSnapshotSchema];

/** Operations that a client requests. */
const REQUESTS: Readonly<Record<string, OperationRow>> = {
  authenticate: {
    summary: "Prove an API key, by a signature or a ticket: once for a connection",
    request: [authSchema, authTicketSchema],
    answers: [authenticatedSchema],
  },
  subscribe: {
    summary: "One subscription per symbol; asking again for one that runs gives the same answer and no second snapshot",
    request: [subscribeTickerSchema, subscribeBookSchema, subscribeStatusSchema],
    answers: [subscribedSchema, ...PUBLIC_SNAPSHOTS],
  },
  subscribeAccount: {
    summary: "Positions or orders of a wallet, with credentials that live as long as the subscription; scope `read`",
    isPrivate: true,
    request: [subscribePositionsSchema, subscribeOrdersSchema],
    answers: [subscribedSchema, positionsSnapshotSchema, ordersSnapshotSchema],
  },
  subscribeTransfers: {
    summary: "Deposits, withdrawals and transfers of one server wallet, or of all of the caller's; scope `read`",
    isPrivate: true,
    request: [subscribeTransfersSchema],
    answers: [subscribedSchema, transfersSnapshotSchema],
  },
  unsubscribe: { summary: "End subscriptions", request: [unsubscribeSchema], answers: [unsubscribedSchema] },
  resume: {
    summary: "Take up subscriptions of an earlier connection, or ask for a fresh snapshot of one that runs",
    request: [resumeSchema],
    answers: [resumedSchema, ...PUBLIC_SNAPSHOTS, ...PRIVATE_SNAPSHOTS],
  },
  cancelOnDisconnect: {
    summary: "Cancel all open orders of these accounts when this connection is lost; scope `trade`",
    isPrivate: true,
    request: [cancelOnDisconnectSchema],
    answers: [disconnectSwitchesSchema],
  },
  ping: { summary: "Ask for a pong", request: [pingSchema], answers: [pongSchema] },
};

interface PushRow extends Pick<OperationRow, "summary" | "isPrivate"> {
  readonly frames: readonly TSchema[];
}

/** Operations that the service starts by itself. */
const PUSHES: Readonly<Record<string, PushRow>> = {
  updateTicker: { summary: "Changed ticker fields", frames: [tickerUpdateSchema] },
  updateBook: { summary: "Changed book levels", frames: [bookUpdateSchema] },
  updateStatus: { summary: "Changed feed or service states", frames: [statusUpdateSchema] },
  updatePositions: { summary: "Changed positions of a wallet", isPrivate: true, frames: [positionsUpdateSchema] },
  updateOrders: { summary: "One event of a wallet's orders", isPrivate: true, frames: [ordersUpdateSchema] },
  updateTransfers: { summary: "One change of a transfer", isPrivate: true, frames: [transfersUpdateSchema] },
  resync: { summary: "A snapshot follows instead of updates that are lost", frames: [resyncSchema] },
  heartbeat: { summary: "Every 5 s, whatever the traffic", frames: [heartbeatSchema] },
  lagging: { summary: "This connection reads too slowly", frames: [laggingSchema] },
  notice: { summary: "Why the service is about to close this connection", frames: [noticeSchema] },
};

const DESCRIPTION = `Live tickers, books, feed states, positions, orders and transfers of money over one WebSocket at \`${STREAM_PATH}\`: JSON text, no compression.

Each subscription begins with a snapshot; updates follow with \`seq\` and \`prevSeq\` within an \`epoch\`. A gap is
\`prevSeq\` other than the last \`seq\` seen. No frame for 12 s: reconnect, with full jitter between 0.5 and 30 s.

Outside public mode \`positions\`, \`orders\` and \`transfers\` need an \`auth\` frame first, of a key with the scope \`read\`, and
\`cancelOnDisconnect\` one with \`trade\`; a connection that asked for them has 5 s for it. Other topics need no key.

Close codes: ${Object.entries(CLOSE_CODES)
  .map(([code, meaning]) => `${code} ${meaning}`)
  .join(" ")}`;

/** Collects the messages that operations name, with their schemas. */
class MessageCollector {
  readonly schemas: Record<string, Json> = {};
  readonly messages: Record<string, Json> = {};

  constructor() {
    // Named by reference from the ticker frames.
    for (const schema of TICKER_SCHEMAS) component(schema, this.schemas);
  }

  /** Returns a reference to the schema's message. */
  ref(schema: TSchema): Json {
    const name = schema.$id as string;
    const examples = STREAM_EXAMPLES[name];
    this.messages[name] ??= {
      name,
      ...(schema.description === undefined ? {} : { summary: schema.description }),
      payload: component(schema, this.schemas),
      ...(examples === undefined ? {} : { examples: examples.map((payload) => ({ payload })) }),
    };
    return { $ref: `#/channels/stream/messages/${name}` };
  }

  /** The messages of the channel: a reference for each. */
  channelMessages(): Json {
    return Object.fromEntries(
      Object.keys(this.messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
    );
  }
}

function operationsOf(collector: MessageCollector): Readonly<Record<string, Json>> {
  const message = (schema: TSchema) => collector.ref(schema);
  const channel = { $ref: "#/channels/stream" };
  const operations: Record<string, Json> = {};
  const security = (isPrivate = false) => (isPrivate ? { security: PROOF } : {});
  for (const [name, { summary, isPrivate, request, answers }] of Object.entries(REQUESTS)) {
    operations[name] = {
      action: "receive",
      summary,
      channel,
      ...security(isPrivate),
      messages: request.map(message),
      reply: { channel, messages: [...answers, streamErrorSchema].map(message) },
    };
  }
  for (const [name, { summary, isPrivate, frames }] of Object.entries(PUSHES))
    operations[name] = { action: "send", summary, channel, ...security(isPrivate), messages: frames.map(message) };
  return operations;
}

export function buildAsyncApi(): AsyncApiDocument {
  const collector = new MessageCollector();
  const operations = operationsOf(collector);
  return {
    asyncapi: "3.0.0",
    info: {
      title: "unwind stream",
      version: INTERFACE_VERSION,
      description: DESCRIPTION,
      license: { name: "Apache-2.0" },
    },
    defaultContentType: "application/json",
    channels: {
      stream: {
        address: STREAM_PATH,
        messages: collector.channelMessages(),
        bindings: { ws: { method: "GET" } },
      },
    },
    operations,
    components: { messages: collector.messages, schemas: collector.schemas, securitySchemes: SECURITY_SCHEMES },
  };
}
