/**
 * The OpenAPI 3.1 document of the outside signer: the contract that its maker implements and this service calls. Built
 * from the schemas that check its answers (outside-signer.ts).
 */
import type { TSchema } from "@sinclair/typebox";
import { component } from "./openapi.js";
import {
  requestIdSchema,
  signerErrorSchema,
  signerHealthReplySchema,
  signerRequestReplySchema,
  signerSignatureRequestSchema,
  signerUnknownReplySchema,
  signerWalletRequestSchema,
} from "./outside-signer.js";

type Json = Readonly<Record<string, unknown>>;

/** Of the contract, apart from that of the service. */
export const SIGNER_CONTRACT_VERSION = "1.0.0";

const DESCRIPTION = `What unwind (the client of this interface) asks of an outside signer that holds the keys of its server wallets.

A request has an id that the client makes and repeats: \`Idempotency-Key\` where it begins one, the path where it asks what became of it. However often an id arrives, also at the same time, there is one request, durable before the first answer. The same id with another body is a 409, and changes nothing. A request is kept for at least a day after its end, and ends within 30 days.

Each call is answered within 3 seconds, with the state so far where it is not decided. Whatever is no answer of this description (a timeout, a lost connection, a 5xx) leaves open whether the request was taken: the client then asks for it by its id before it sends it again. With 429 nothing was taken. Redirects are not followed, and a body of more than 65,536 bytes is not read.

The client believes nothing: it computes the address out of the public key, and the digest out of what it asked to have signed, and a signature that does not recover to the wallet's key is refused.`;

const EXAMPLE_ID = "5f0c7f0e-8a0b-4b6e-9d37-6c1d2f0a9b41";
const WALLET_EXAMPLE = {
  requestId: EXAMPLE_ID,
  kind: "wallet",
  state: "DONE",
  wallet: {
    walletRef: "vault-7/account-12",
    publicKey: "0x038318535b54105d4a7aae60c08fc45f9687181b4fdfc625bd1a753fa7397fed75",
    address: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
  },
};
const PENDING_EXAMPLE = { requestId: EXAMPLE_ID, kind: "signature", state: "AWAITING_APPROVAL" };

const SIGNATURE_REQUEST_EXAMPLE = {
  walletRef: "vault-7/account-12",
  origin: "caller",
  payload: { kind: "message", messageHex: "0x68656c6c6f" },
};

const RETRY_AFTER: Json = { "Retry-After": { $ref: "#/components/headers/Retry-After" } };
const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: true,
  description: "The id of the request.",
  schema: requestIdSchema,
};

export interface SignerContract extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: Json & { readonly schemas: Readonly<Record<string, unknown>> };
}

export function buildSignerContract(): SignerContract {
  const schemas: Record<string, unknown> = {};
  const body: BodyOf = (schema, example) => ({
    "application/json": { schema: component(schema, schemas), ...(example === undefined ? {} : { example }) },
  });
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Outside signer",
      version: SIGNER_CONTRACT_VERSION,
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      contact: { name: "The operator of the service that calls it" },
    },
    servers: [{ url: "/", description: "WALLET_PROVIDER_URL" }],
    tags: [
      { name: "requests", description: "Wallets and signatures, each begun once and asked for until it has ended." },
      { name: "service", description: "The signer itself." },
    ],
    paths: {
      "/wallets": { post: walletOperation(body) },
      "/signatures": { post: signatureOperation(body) },
      "/requests/{requestId}": { get: lookOperation(body) },
      "/health": { get: healthOperation(body) },
    },
    components: {
      schemas,
      headers: { "Retry-After": { description: "Whole seconds.", schema: { type: "string", pattern: "^[0-9]+$" } } },
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "WALLET_PROVIDER_TOKEN_FILE" } },
    },
  };
  // Without the marks that the schemas carry in memory.
  return JSON.parse(JSON.stringify(document)) as SignerContract;
}

/** Content of a body; its schema becomes a component of the document. */
type BodyOf = (schema: TSchema, example?: unknown) => Json;

function walletOperation(body: BodyOf): Json {
  return {
    operationId: "createWallet",
    summary: "Make a wallet",
    description: "Begins the making of a key, or answers what became of it where this id was seen before.",
    ...beginning(body, signerWalletRequestSchema, {}),
  };
}

function signatureOperation(body: BodyOf): Json {
  return {
    operationId: "sign",
    summary: "Sign",
    description:
      "Begins a signature, or answers what became of it where this id was seen before. The signer computes the digest out of the payload, by its own code.",
    ...beginning(body, signerSignatureRequestSchema, SIGNATURE_REQUEST_EXAMPLE),
  };
}

function beginning(body: BodyOf, asked: TSchema, example: unknown): Json {
  return {
    tags: ["requests"],
    security: [{ bearer: [] }],
    parameters: [IDEMPOTENCY_KEY],
    requestBody: { required: true, content: body(asked, example) },
    responses: {
      "200": { description: "The request has ended.", content: body(signerRequestReplySchema, WALLET_EXAMPLE) },
      "202": {
        description: "The request is taken, and not decided yet.",
        headers: RETRY_AFTER,
        content: body(signerRequestReplySchema, PENDING_EXAMPLE),
      },
      "400": failed(body, "The request cannot be read, and will never be taken."),
      "409": failed(body, "This id belongs to a request with another body, which goes on."),
      "422": failed(body, "It is understood and will never be taken, such as for a wallet that does not exist."),
      ...common(body),
    },
  };
}

function lookOperation(body: BodyOf): Json {
  return {
    operationId: "request",
    summary: "What became of a request",
    description: "Changes nothing. `Retry-After` says when it is worth asking again.",
    tags: ["requests"],
    security: [{ bearer: [] }],
    parameters: [{ name: "requestId", in: "path", required: true, schema: requestIdSchema }],
    responses: {
      "200": {
        description: "Its state.",
        headers: RETRY_AFTER,
        content: body(signerRequestReplySchema, PENDING_EXAMPLE),
      },
      "404": {
        description: "No request of this id was ever taken, or it ended too long ago.",
        content: body(signerUnknownReplySchema),
      },
      ...common(body),
    },
  };
}

function healthOperation(body: BodyOf): Json {
  return {
    operationId: "health",
    summary: "Whether requests are taken",
    description: "Asked every 15 seconds; with the token, so that a wrong one is noticed before it is needed.",
    tags: ["service"],
    security: [{ bearer: [] }],
    responses: { "200": { description: "They are.", content: body(signerHealthReplySchema) }, ...common(body) },
  };
}

/** What any call may be answered. */
function common(body: BodyOf): Json {
  return {
    "401": failed(body, "The token is none of the signer's, or not valid for this."),
    "429": failed(body, "Too many calls; nothing was taken.", RETRY_AFTER),
    "503": failed(body, "The signer cannot answer now.", RETRY_AFTER),
  };
}

function failed(body: BodyOf, description: string, headers: Json = {}): Json {
  return { description, headers, content: body(signerErrorSchema) };
}
