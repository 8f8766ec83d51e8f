/** Vectors as the SQL drivers store them: numbers of 32 bits, the least significant byte first. */

export function bytesOf(vector: Float32Array): Uint8Array {
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [place, number] of vector.entries()) view.setFloat32(place * 4, number, true);
  return bytes;
}

export function vectorOf(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const vector = new Float32Array(Math.floor(bytes.byteLength / 4));
  for (const place of vector.keys()) vector[place] = view.getFloat32(place * 4, true);
  return vector;
}
