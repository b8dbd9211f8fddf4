#include "json/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXACT UINT64_C(9007199254740992) /* 2^53 */
#define HIDDEN_BIT (UINT64_C(1) << 52)
#define MAX_EXPONENT 0x7FF

/* --- 128 bits ------------------------------------------------------------ */

/* The product's high half; the low half goes to `*lo`. */
static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *lo) {
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 Wide;
  Wide product = (Wide)a * b;
  *lo = (uint64_t)product;
  return (uint64_t)(product >> 64);
#else
  uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
  uint64_t low = al * bl, middle = ah * bl + (low >> 32);
  uint64_t other = al * bh + (uint32_t)middle;
  *lo = other << 32 | (uint32_t)low;
  return ah * bh + (middle >> 32) + (other >> 32);
#endif
}

static inline int leading_zeros(uint64_t n) {
#ifdef __GNUC__
  return __builtin_clzll(n);
#else
  int count = 0;
  for (; n >> 63 == 0; n <<= 1) count++;
  return count;
#endif
}

/* --- powers of ten ------------------------------------------------------- */

#define MIN_POWER (-342)
#define MAX_POWER 324
#define POWER_STEP 27
#define FIRST_POWER (-351)

/* The first 192 bits of 10^-351, 10^-324, ... 10^324. */
static const uint64_t coarse_powers[][3] = {
    {0x8049a4ac0c5811ae, 0x205b896d777d6278, 0xac261e9f5141430b},
    {0xcf42894a5dce35ea, 0x52064cac828675b9, 0x475f2b7d7df1ad7a},
    {0xa76c582338ed2621, 0xaf2af2b80af6f24e, 0x657c8f4d43323a36},
    {0x873e4f75e2224e68, 0x5a7744a6e804a291, 0xcc35eddfcf0996d7},
    {0xda7f5bf590966848, 0xaf39a475506a899e, 0xa30294cc2934e662},
    {0xb080392cc4349dec, 0xbd8d794d96aacfb3, 0xfe13a5c86af64418},
    {0x8e938662882af53e, 0x547eb47b7282ee9c, 0x41b0230e1421487d},
    {0xe65829b3046b0afa, 0x0cb4a5a3112a5112, 0xa3b561b1cb208396},
    {0xba121a4650e4ddeb, 0x92f34d62616ce413, 0x21a0183e10583cd3},
    {0x964e858c91ba2655, 0x3a6a07f8d510f86f, 0xe9082f25e9c5e9ec},
    {0xf2d56790ab41c2a2, 0xfae27299423fb9c3, 0x3695dad7e8858901},
    {0xc428d05aa4751e4c, 0xaa97e14c3c26b886, 0x96842dc95323f5a8},
    {0x9e74d1b791e07e48, 0x775ea264cf55347d, 0xca49f1c05120c9c7},
    {0x8000000000000000, 0x0000000000000000, 0x0000000000000000},
    {0xcecb8f27f4200f3a, 0x0000000000000000, 0x0000000000000000},
    {0xa70c3c40a64e6c51, 0x999090b65f67d924, 0x0000000000000000},
    {0x86f0ac99b4e8dafd, 0x69a028bb3ded71a3, 0xdf9f915627c04e28},
    {0xda01ee641a708de9, 0xe80e6f4820cc9495, 0xd74baad03bc1d8d3},
    {0xb01ae745b101e9e4, 0x5ec05dcff72e7f8f, 0xc04c79ffe324301f},
    {0x8e41ade9fbebc27d, 0x14588f13be847307, 0x23bd6a2059c002f5},
    {0xe5d3ef282a242e81, 0x8f1668c8a86da5fa, 0xf0b5ccf5176ecc7c},
    {0xb9a74a0637ce2ee1, 0x6d953e2bd7173692, 0x88efb0037ac08bde},
    {0x95f83d0a1fb69cd9, 0x4abdaf101564f98e, 0x0d5a4af7b3a98e47},
    {0xf24a01a73cf2dccf, 0xbc633b39673c8cec, 0x3d9c44cd2f36917c},
    {0xc3b8358109e84f07, 0x0a862f80ec4700c8, 0x02606ea01029dc37},
    {0x9e19db92b4e31ba9, 0x6c07a2c26a8346d1, 0x4944d9f52cd0dec2},
};

/* 5^0 to 5^26. */
static const uint64_t fine_powers[POWER_STEP] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
    UINT64_C(476837158203125),
    UINT64_C(2384185791015625),
    UINT64_C(11920928955078125),
    UINT64_C(59604644775390625),
    UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625),
};

/* floor(log2(10^k)) */
static inline int log2_power(int k) {
  return k * 1741647 >> 19;
}

typedef struct Power {
  uint64_t hi, lo;
} Power;

/* The first 128 bits of 10^k, rounded down, with the top bit set: 10^k is about
** (hi * 2^64 + lo) * 2^(log2_power(k) - 127).  (Exact arithmetic has shown that
** 192 coarse bits are enough for each k.) */
static inline Power power_of_ten(int k) {
  int i = (k - FIRST_POWER) / POWER_STEP;
  uint64_t fine = fine_powers[(k - FIRST_POWER) % POWER_STEP];
  const uint64_t *coarse = coarse_powers[i];
  uint64_t lo0, lo1, lo2, hi1, hi2, unused;
  Power p;
  fine <<= leading_zeros(fine);
  p.hi = multiply(coarse[0], fine, &lo0);
  hi1 = multiply(coarse[1], fine, &lo1);
  hi2 = multiply(coarse[2], fine, &unused);
  lo2 = lo1 + hi2;
  hi1 += lo2 < lo1;
  p.lo = lo0 + hi1;
  p.hi += p.lo < lo0;
  if (p.hi >> 63 == 0) {
    p.hi = p.hi << 1 | p.lo >> 63;
    p.lo = p.lo << 1 | lo2 >> 63;
  }
  return p;
}

static inline Power next(Power p) {
  p.lo++;
  p.hi += p.lo == 0;
  return p;
}

/* --- reading ------------------------------------------------------------- */

static double from_bits(uint64_t mantissa, int exponent) {
  uint64_t bits = mantissa | (uint64_t)exponent << 52;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/* The double below the smallest normal one whose first bits are `m` (55 bits
** and those of `hi`). */
static double subnormal(uint64_t m, int exponent) {
  if (exponent <= -63) return 0.0;
  m >>= 1 - exponent;
  m = (m + (m & 1)) >> 1;
  return from_bits(m, 0); /* rounded up to 2^52, the smallest normal one */
}

/* mantissa * 10^k by the method of Eisel and Lemire ("Number parsing at a
** gigabyte per second", 2021): the product with 128 bits of the power gives the
** nearest double, always (Mushtak and Lemire, "Fast number parsing without
** fallback", 2023). */
static double product_double(uint64_t mantissa, int64_t k) {
  Power power;
  uint64_t hi, lo, m;
  int zeros, upper, exponent;
  if (mantissa == 0 || k < MIN_POWER) return 0.0;
  if (k > 308) return HUGE_VAL;
  power = power_of_ten((int)k);
  if (k < 0 && k >= -27) power = next(power);
  zeros = leading_zeros(mantissa);
  mantissa <<= zeros;
  hi = multiply(mantissa, power.hi, &lo);
  if ((hi & 0x1FF) == 0x1FF) {
    uint64_t unused, more = multiply(mantissa, power.lo, &unused);
    lo += more;
    hi += lo < more;
  }
  upper = (int)(hi >> 63);
  m = hi >> (upper + 9);
  exponent = log2_power((int)k) + 63 + upper - zeros + 1023;
  if (exponent <= 0) return subnormal(m, exponent);
  if (lo <= 1 && k >= -4 && k <= 23 && (m & 3) == 1 && m << (upper + 9) == hi)
    m &= ~UINT64_C(1); /* halfway: to even */
  m = (m + (m & 1)) >> 1;
  if (m >> 53 != 0) m >>= 1, exponent++;
  if (exponent >= MAX_EXPONENT) return HUGE_VAL;
  return from_bits(m & ~HIDDEN_BIT, exponent);
}

/* Digits beyond these only matter if they are not zero: no double, and no
** middle between two doubles, has more. */
#define MAX_DIGITS 770

/* Reads `p` by strtod, without a decimal point, which depends on the locale.
** The last of the first JSON_MANTISSA_DIGITS stands for 10^exponent. */
static double exact_double(int exponent, const char *p, size_t n) {
  char text[MAX_DIGITS + 32];
  int len = 0;
  bool more = false;
  const char *end = p + n;
  for (; p < end && (*p | 32) != 'e'; p++) {
    if (*p < '0' || *p > '9' || (*p == '0' && len == 0)) continue;
    if (len < MAX_DIGITS) text[len++] = *p;
    else more = more || *p != '0';
  }
  if (more) text[len++] = '1';
  snprintf(text + len, sizeof(text) - (size_t)len, "e%d",
           exponent + JSON_MANTISSA_DIGITS - len);
  return strtod(text, NULL);
}

static const double exact_powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double json_parse_double(uint64_t mantissa, int64_t exponent, bool exact,
                         const char *p, size_t n) {
  double value;
  if (exact && mantissa <= MAX_EXACT && exponent >= -22 && exponent <= 22) {
    value = (double)mantissa; /* only the division rounds */
    return exponent < 0 ? value / exact_powers[-exponent]
                        : value * exact_powers[exponent];
  }
  value = product_double(mantissa, exponent);
  if (exact || value == product_double(mantissa + 1, exponent)) return value;
  return exact_double((int)exponent, p, n);
}

/* --- writing ------------------------------------------------------------- */

static const char digit_pairs[] = "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899";

size_t json_format_unsigned(char *out, uint64_t n) {
  char room[20], *p = room + sizeof(room);
  size_t len;
  for (; n >= 100; n /= 100) {
    p -= 2;
    memcpy(p, digit_pairs + n % 100 * 2, 2);
  }
  if (n >= 10) {
    p -= 2;
    memcpy(p, digit_pairs + n * 2, 2);
  } else {
    *--p = (char)('0' + n);
  }
  len = (size_t)(room + sizeof(room) - p);
  memcpy(out, p, len);
  return len;
}

size_t json_format_integer(char *out, int64_t value) {
  if (value >= 0) return json_format_unsigned(out, (uint64_t)value);
  out[0] = '-';
  return 1 + json_format_unsigned(out + 1, 0 - (uint64_t)value);
}

typedef struct Decimal {
  uint64_t digits;
  int exponent; /* value = digits * 10^exponent */
} Decimal;

/* The first 64 bits of power * n; the last bit is set when any lower bit is. */
static inline uint64_t round_to_odd(Power power, uint64_t n) {
  uint64_t lo, unused, carry = multiply(power.lo, n, &unused);
  uint64_t hi = multiply(power.hi, n, &lo);
  lo += carry;
  hi += lo < carry;
  return hi | (lo > 1);
}

/* The decimal with the fewest digits among those that round to the double
** mantissa * 2^exponent, and of these the nearest: the method of Giulietti
** ("The Schubfach way to render doubles", 2020).  Works in quarters of the last
** decimal place: lower and upper bound the decimals that round to the double.
*/
static Decimal shortest(uint64_t mantissa, int exponent, bool lower_closer) {
  int k = (exponent * 1262611 - (lower_closer ? 524031 : 0)) >> 22;
  int shift = exponent + log2_power(-k) + 1;
  uint64_t odd = mantissa & 1, lower, middle, upper, s, tens;
  Power power = next(power_of_ten(-k));
  Decimal result;
  bool below, above;
  middle = round_to_odd(power, 4 * mantissa << shift);
  lower = round_to_odd(power, (4 * mantissa - 2 + lower_closer) << shift) + odd;
  upper = round_to_odd(power, (4 * mantissa + 2) << shift) - odd;
  s = middle / 4;
  tens = s / 10;
  below = lower <= 40 * tens;
  above = 40 * tens + 40 <= upper;
  result.exponent = k + 1;
  result.digits = tens + above;
  if (below != above) return result;
  below = lower <= 4 * s;
  above = 4 * s + 4 <= upper;
  if (below == above)
    above = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0);
  result.exponent = k;
  result.digits = s + above;
  return result;
}

static size_t format_decimal(char *out, Decimal d) {
  char digits[20];
  size_t n, i;
  int point; /* how many digits are before it */
  while (d.digits % 10 == 0) d.digits /= 10, d.exponent++;
  n = json_format_unsigned(digits, d.digits);
  point = (int)n + d.exponent;
  if (point > 0 && (size_t)point < n) {
    memcpy(out, digits, (size_t)point);
    out[point] = '.';
    memcpy(out + point + 1, digits + point, n - (size_t)point);
    return n + 1;
  }
  if (point <= 0 && point > -6) {
    out[0] = '0';
    out[1] = '.';
    memset(out + 2, '0', (size_t)-point);
    memcpy(out + 2 - point, digits, n);
    return 2 + (size_t)-point + n;
  }
  out[0] = digits[0];
  i = 1;
  if (n > 1) {
    out[i++] = '.';
    memcpy(out + i, digits + 1, n - 1);
    i += n - 1;
  }
  out[i++] = 'e';
  return i + json_format_integer(out + i, point - 1);
}

size_t json_format_double(char *out, double value) {
  uint64_t bits, mantissa;
  int exponent;
  size_t sign;
  if (value >= -9007199254740992.0 && value <= 9007199254740992.0 &&
      (double)(int64_t)value == value && (value != 0 || !signbit(value)))
    return json_format_integer(out, (int64_t)value);
  memcpy(&bits, &value, sizeof(bits));
  sign = (size_t)(bits >> 63);
  if (sign) out[0] = '-';
  if (value == 0) {
    out[sign] = '0';
    return sign + 1;
  }
  mantissa = bits & (HIDDEN_BIT - 1);
  exponent = (int)(bits >> 52 & MAX_EXPONENT);
  if (exponent == 0)
    return sign + format_decimal(out + sign, shortest(mantissa, -1074, false));
  /* The double below a power of two is closer; below the least of them it is
  ** not, whose digits are the same either way. */
  return sign +
         format_decimal(out + sign, shortest(mantissa | HIDDEN_BIT,
                                             exponent - 1075, mantissa == 0));
}
