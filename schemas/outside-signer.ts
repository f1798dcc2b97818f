/**
 * What an outside signer is asked and answers (docs/outside-signer.md). One schema gives the type, the check of its
 * answers and the description that its makers work from.
 *
 * Answers may have more fields than these: they are not read.
 */
import { type Static, Type } from "@sinclair/typebox";
import { words } from "./common.js";

const UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
const HEX_BYTES = "^0x([0-9a-f]{2})*$";
const DIGITS = "^(0|[1-9][0-9]{0,77})$";
const ADDRESS = "^0x[0-9a-fA-F]{40}$";

export const requestIdSchema = Type.String({
  pattern: UUID,
  description: "Made by the service, and the same for each repetition of the request.",
});

const closed = { additionalProperties: false } as const;
const integer = (description: string) => Type.String({ pattern: DIGITS, description });

export const signerWalletRequestSchema = Type.Object(
  {},
  {
    $id: "WalletRequest",
    ...closed,
    description:
      "A new key of secp256k1, of which no single machine holds the whole. The service names no user: its request id is the only name that both sides know.",
  },
);

const common = {
  chainId: integer("Never 0."),
  nonce: integer("Of the wallet on that chain."),
  gasLimit: integer("Units of gas."),
  to: Type.String({ pattern: ADDRESS }),
  value: integer("Wei."),
  data: Type.String({ pattern: HEX_BYTES }),
};

const transactionSchema = Type.Union([
  Type.Object(
    {
      type: Type.Literal("eip1559"),
      ...common,
      maxFeePerGas: integer("Wei."),
      maxPriorityFeePerGas: integer("Wei."),
    },
    closed,
  ),
  Type.Object({ type: Type.Literal("legacy"), ...common, gasPrice: integer("Wei; signed by EIP-155.") }, closed),
]);

const payloadSchema = Type.Union(
  [
    Type.Object(
      { kind: Type.Literal("message"), messageHex: Type.String({ pattern: HEX_BYTES, description: "EIP-191." }) },
      closed,
    ),
    Type.Object(
      {
        kind: Type.Literal("typedData"),
        typedData: Type.String({
          minLength: 2,
          description:
            "EIP-712, the JSON text as the caller wrote it: numbers beyond 2^53 keep their digits, and must in the signer.",
        }),
      },
      closed,
    ),
    Type.Object({ kind: Type.Literal("transaction"), transaction: transactionSchema }, closed),
    Type.Object(
      {
        kind: Type.Literal("digest"),
        digest: Type.String({ pattern: "^0x[0-9a-f]{64}$" }),
      },
      { ...closed, description: "Only where both sides are configured to take raw digests." },
    ),
  ],
  { description: "What is to be signed. The signer reads it and computes the digest itself." },
);

export const signerSignatureRequestSchema = Type.Object(
  {
    walletRef: Type.String({ minLength: 1, maxLength: 128, description: "The signer's own name of the wallet." }),
    origin: words(["caller", "service", "test"], {
      description:
        "Who chose what is signed. caller: a user of the service, so that the narrowest rules belong here. service: an act that the service built itself, such as the approval of a key at a venue. test: the one message `Test signature of wallet <UUID>` by which a new wallet proves its key.",
    }),
    payload: payloadSchema,
  },
  { $id: "SignatureRequest", ...closed },
);

const walletSchema = Type.Object(
  {
    walletRef: Type.String({ pattern: "^[\\x21-\\x7e]{1,128}$", description: "The signer's own name of the wallet." }),
    publicKey: Type.String({ pattern: "^0x0[23][0-9a-fA-F]{64}$", description: "Compressed point of secp256k1." }),
    address: Type.String({ pattern: ADDRESS, description: "Of that key. The service computes it again." }),
  },
  { description: "With DONE, of a wallet." },
);

const refusalSchema = Type.Object(
  {
    reason: words(["POLICY", "DESTINATION", "PEOPLE", "EXPIRED"], {
      description:
        "POLICY, DESTINATION: a rule of the signer's. PEOPLE: those who were asked said no. EXPIRED: nobody decided in time.",
    }),
    rule: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          "Name of the rule; shown to callers of the service where it is 1 to 64 letters, digits, spaces and `_.:-`.",
      }),
    ),
  },
  { description: "With REFUSED." },
);

export const signerRequestReplySchema = Type.Object(
  {
    requestId: requestIdSchema,
    kind: words(["wallet", "signature"]),
    state: words(["PENDING", "AWAITING_APPROVAL", "DONE", "REFUSED", "FAILED"], {
      description:
        "PENDING: machines are at work. AWAITING_APPROVAL: people are. The other three are final, and do not change. FAILED: a fault of the signer's, and nothing was signed.",
    }),
    wallet: Type.Optional(walletSchema),
    signature: Type.Optional(
      Type.String({
        pattern: "^0x[0-9a-fA-F]{130}$",
        description: "With DONE, of a signature: r, s and v of 65 bytes; s in the lower half, v 27 or 28.",
      }),
    ),
    refusal: Type.Optional(refusalSchema),
  },
  { $id: "RequestReply" },
);
export type SignerRequestReply = Static<typeof signerRequestReplySchema>;
export type SignerSignatureRequest = Static<typeof signerSignatureRequestSchema>;

export const signerUnknownReplySchema = Type.Object(
  { code: Type.Literal("REQUEST_UNKNOWN"), requestId: requestIdSchema },
  { $id: "UnknownReply" },
);

export const signerHealthReplySchema = Type.Object({ status: Type.Literal("ok") }, { $id: "HealthReply" });

export const signerErrorSchema = Type.Object(
  { error: Type.String({ description: "For people. The service does not read it." }) },
  { $id: "SignerError" },
);
