// Makes PNG files smaller: node png.mjs FILE... Rewrites each with a palette of at most 256 colours. Colours beyond that
// number, which edges of letters have, become the nearest colour of the palette. The same input gives the same file.
import { readFileSync, writeFileSync } from "node:fs";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

function chunks(file) {
  const list = [];
  for (let at = 8; at < file.length;) {
    const length = file.readUInt32BE(at);
    list.push({ type: file.toString("latin1", at + 4, at + 8), data: file.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return list;
}

function chunk(type, data) {
  const made = Buffer.alloc(data.length + 12);
  made.writeUInt32BE(data.length, 0);
  made.write(type, 4, "latin1");
  data.copy(made, 8);
  made.writeUInt32BE(crc32(made.subarray(4, data.length + 8)), data.length + 8);
  return made;
}

function paeth(left, above, corner) {
  const guess = left + above - corner;
  const a = Math.abs(guess - left), b = Math.abs(guess - above), c = Math.abs(guess - corner);
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

// The pixels of a picture with 8 bits for each of `size` channels, its filters undone (PNG, section 9).
function pixels(data, width, height, size) {
  const stride = width * size, bytes = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= size ? bytes[at - size] : 0, above = y > 0 ? bytes[at - stride] : 0;
      const corner = x >= size && y > 0 ? bytes[at - stride - size] : 0;
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter];
      bytes[at] = data[y * (stride + 1) + 1 + x] + guess;
    }
  }
  return bytes;
}

// The most frequent colours, then those that differ most from the ones before: a rare colour of an icon stays.
function palette_of(counts) {
  const rest = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour);
  const palette = rest.splice(0, 128);
  const distances = rest.map((colour) => Math.min(...palette.map((one) => distance(one, colour))));
  while (palette.length < 256 && rest.length > 0) {
    const at = distances.indexOf(Math.max(...distances));
    const [colour] = rest.splice(at, 1);
    distances.splice(at, 1);
    palette.push(colour);
    rest.forEach((other, i) => (distances[i] = Math.min(distances[i], distance(colour, other))));
  }
  return palette;
}

function distance(one, other) {
  const red = (one >> 16) - (other >> 16), green = ((one >> 8) & 255) - ((other >> 8) & 255);
  const blue = (one & 255) - (other & 255);
  return red * red + green * green + blue * blue;
}

function smaller(file) {
  const list = chunks(file), header = list.find(({ type }) => type === "IHDR").data;
  const width = header.readUInt32BE(0), height = header.readUInt32BE(4);
  const size = { 2: 3, 6: 4 }[header[9]];
  if (header[8] !== 8 || size === undefined || header[12] !== 0) return file; // a palette already
  const data = inflateSync(Buffer.concat(list.filter(({ type }) => type === "IDAT").map((one) => one.data)));
  const bytes = pixels(data, width, height, size), counts = new Map();
  const colour_at = (i) => (bytes[i * size] << 16) | (bytes[i * size + 1] << 8) | bytes[i * size + 2];
  for (let i = 0; i < width * height; i++) counts.set(colour_at(i), (counts.get(colour_at(i)) ?? 0) + 1);
  const palette = palette_of(counts), places = new Map(palette.map((colour, i) => [colour, i]));
  for (const colour of counts.keys()) {
    if (places.has(colour)) continue;
    let nearest = 0;
    palette.forEach((one, i) => (nearest = distance(one, colour) < distance(palette[nearest], colour) ? i : nearest));
    places.set(colour, nearest);
  }
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = places.get(colour_at(y * width + x));
  const made = Buffer.from(header);
  made[9] = 3;
  const colours = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  return Buffer.concat([signature, chunk("IHDR", made), chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

for (const path of process.argv.slice(2)) {
  const file = readFileSync(path), made = smaller(file);
  if (made.length < file.length) writeFileSync(path, made);
  console.log(`${path}: ${Math.min(made.length, file.length)} bytes`);
}
