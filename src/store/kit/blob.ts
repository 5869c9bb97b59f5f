import assert from "node:assert/strict";
import { BLOB_BYTES_MAX } from "../../core/limits.ts";
import { type Check, check, forgetful } from "./check.ts";
import { refused, value } from "./expect.ts";
import * as sample from "./sample.ts";

const { ACME, GLOBEX, bytes } = sample;

/** The names of known contents, from the standard that defines the hash. */
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** O. Blobs: bytes under the name that they give themselves. */
export const BLOB: readonly Check[] = [
  check(
    "O1: a blob's name is the SHA-256 of its content, and it comes back as it was",
    async (stage) => {
      const store = await stage.start();
      assert.equal(await value(store.writeBlob(ACME, bytes("abc"))), ABC);
      assert.equal(await value(store.writeBlob(ACME, new Uint8Array(0))), EMPTY);
      assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
      assert.equal((await value(store.readBlob(ACME, EMPTY))).byteLength, 0);
      const every = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
      const part = await value(store.writeBlob(ACME, every.subarray(100, 400)));
      const read = await value(store.readBlob(ACME, part));
      assert.deepEqual([...read], [...every.subarray(100, 400)]);
    },
  ),

  check("O2: the same content again changes nothing", async (stage) => {
    const store = await stage.start();
    const writing = Array.from({ length: 8 }, () => store.writeBlob(ACME, bytes("abc")));
    const names = await Promise.all(writing.map((one) => value(one)));
    assert.deepEqual([...new Set(names)], [ABC]);
    assert.equal(await value(store.writeBlob(GLOBEX, bytes("abc"))), ABC);
    assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
  }),

  check("O3: what is not there is not found, whatever it is called", async (stage) => {
    const store = await stage.start();
    await value(store.writeBlob(GLOBEX, bytes("abc")));
    const { details } = await refused(store.readBlob(ACME, ABC), "blob_not_found");
    assert.equal(details.hash, ABC);
    await value(store.writeBlob(ACME, bytes("abc")));
    const names = ["", "..", "../../x", "/etc/passwd", "\0", "x".repeat(10_000), ABC.toUpperCase()];
    for (const hash of [...names, ABC.slice(0, 63), `${ABC} `, "%"]) {
      await refused(store.readBlob(ACME, hash), "blob_not_found", "invalid_store_input");
    }
  }),

  check("O4: bytes are copied, on their way in and out", async (stage) => {
    const store = await stage.start();
    const given = bytes("abc");
    const writing = store.writeBlob(ACME, given);
    given.fill(0);
    assert.equal(await value(writing), ABC);
    (await value(store.readBlob(ACME, ABC))).fill(0);
    assert.equal(Buffer.from(await value(store.readBlob(ACME, ABC))).toString(), "abc");
  }),

  check("O5: a blob of exactly the limit is taken, and of one byte more is not", async (stage) => {
    const store = await stage.start();
    const large = new Uint8Array(BLOB_BYTES_MAX + 1).fill(7);
    const { details } = await refused(store.writeBlob(ACME, large), "snapshot_too_large");
    assert.deepEqual(details, { bytes: BLOB_BYTES_MAX + 1, limit: BLOB_BYTES_MAX });
    const hash = await value(store.writeBlob(ACME, large.subarray(1)));
    assert.equal((await value(store.readBlob(ACME, hash))).byteLength, BLOB_BYTES_MAX);
  }),

  check(
    "O6: blobs outlive their sessions and a restart",
    async (stage) => {
      const store = await stage.start();
      const { key } = await stage.session(store);
      await value(store.writeBlob(ACME, bytes("abc")));
      await value(store.delete(key, sample.holder(), []));
      const next = await stage.restart(store);
      assert.equal(Buffer.from(await value(next.readBlob(ACME, ABC))).toString(), "abc");
    },
    forgetful,
  ),
];
