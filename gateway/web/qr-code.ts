/** QR codes as the path of an inline SVG, which a page may show without loading anything. */
import { encode } from 'uqr';

/** White modules around the code, as its standard asks. */
const BORDER = 4;

export interface QrCode {
  /** Modules per side, with the border. */
  size: number;
  /** Black modules, each one unit wide. */
  path: string;
}

export function qrCode(text: string): QrCode {
  const { size, data } = encode(text, { ecc: 'M', border: BORDER });
  const modules = data.flatMap((row, y) => row.map((isBlack, x) => (isBlack ? `M${x} ${y}h1v1h-1z` : '')));
  return { size, path: modules.join('') };
}
