#include "format/kinds.h"

/* The rest of the text.  Each take_... skips what it names, or returns
** false. */
typedef struct Text {
  const char *s, *end;
} Text;

static bool take_digits(Text *t, int count, int *value) {
  int i;
  if (t->end - t->s < count) return false;
  *value = 0;
  for (i = 0; i < count; i++) {
    if (!format_is_digit(t->s[i])) return false;
    *value = *value * 10 + (t->s[i] - '0');
  }
  t->s += count;
  return true;
}

static bool take(Text *t, char c) {
  if (t->s == t->end || *t->s != c) return false;
  t->s++;
  return true;
}

static int days_in(int year, int month) {
  static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool take_date(Text *t) {
  int year, month, day;
  return take_digits(t, 4, &year) && take(t, '-') &&
         take_digits(t, 2, &month) && take(t, '-') && take_digits(t, 2, &day) &&
         month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

/* Z or +hh:mm; the offset in minutes. */
static bool take_offset(Text *t, int *offset) {
  int hours, minutes;
  bool negative;
  *offset = 0;
  if (take(t, 'Z') || take(t, 'z')) return true;
  negative = take(t, '-');
  if (!negative && !take(t, '+')) return false;
  if (!take_digits(t, 2, &hours) || !take(t, ':') ||
      !take_digits(t, 2, &minutes) || hours > 23 || minutes > 59) {
    return false;
  }
  *offset = (hours * 60 + minutes) * (negative ? -1 : 1);
  return true;
}

static bool take_fraction(Text *t) {
  int digit;
  if (!take(t, '.')) return true;
  if (!take_digits(t, 1, &digit)) return false;
  while (take_digits(t, 1, &digit)) continue;
  return true;
}

static bool take_time(Text *t) {
  int hour, minute, second, offset, utc;
  if (!take_digits(t, 2, &hour) || !take(t, ':') ||
      !take_digits(t, 2, &minute) || !take(t, ':') ||
      !take_digits(t, 2, &second) || !take_fraction(t) ||
      !take_offset(t, &offset) || hour > 23 || minute > 59 || second > 60) {
    return false;
  }
  if (second < 60) return true;
  /* Leap seconds are added at the end of a day in UTC. */
  utc = (hour * 60 + minute - offset + 2 * 1440) % 1440;
  return utc == 23 * 60 + 59;
}

bool format_date(const char *s, size_t len) {
  Text t = {s, s + len};
  return take_date(&t) && t.s == t.end;
}

bool format_time(const char *s, size_t len) {
  Text t = {s, s + len};
  return take_time(&t) && t.s == t.end;
}

bool format_date_time(const char *s, size_t len) {
  Text t = {s, s + len};
  return take_date(&t) && (take(&t, 'T') || take(&t, 't')) && take_time(&t) &&
         t.s == t.end;
}

/* Digits, each followed by one of `units`, in this order and without gaps:
** years, months, days; hours, minutes, seconds (RFC 3339, appendix A). */
static bool take_elements(Text *t, const char *units) {
  int last = -1;
  while (t->s < t->end && *t->s != 'T') {
    int digit, unit = 0;
    if (!take_digits(t, 1, &digit)) return false;
    while (take_digits(t, 1, &digit)) continue;
    while (units[unit] != '\0' && !take(t, units[unit])) unit++;
    if (units[unit] == '\0' || unit <= last || (last >= 0 && unit > last + 1)) {
      return false;
    }
    last = unit;
  }
  return last >= 0;
}

bool format_duration(const char *s, size_t len) {
  Text t = {s, s + len}, weeks;
  if (!take(&t, 'P')) return false;
  weeks = t;
  if (take_elements(&weeks, "W") && weeks.s == weeks.end) return true;
  if (t.s < t.end && *t.s != 'T' && !take_elements(&t, "YMD")) return false;
  if (take(&t, 'T')) return take_elements(&t, "HMS") && t.s == t.end;
  return t.s == t.end && len > 1;
}
