#include "transfer/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>

typedef struct Range {
  uint32_t network;
  unsigned bits;
} Range;

/* RFC 6890 and its registry: addresses that are not globally reachable. */
static const Range reserved[] = {
    {0x00000000u, 8},  {0x0A000000u, 8},  {0x64400000u, 10}, {0x7F000000u, 8},
    {0xA9FE0000u, 16}, {0xAC100000u, 12}, {0xC0000000u, 24}, {0xC0000200u, 24},
    {0xC0586300u, 24}, {0xC0A80000u, 16}, {0xC6120000u, 15}, {0xC6336400u, 24},
    {0xCB007100u, 24}, {0xE0000000u, 3}};

static bool is_public_4(uint32_t address) {
  size_t i;
  for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
    if ((address ^ reserved[i].network) >> (32 - reserved[i].bits) == 0)
      return false;
  return true;
}

static uint32_t last_4(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
         (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

/* Only 2000::/3 is assigned.  Documentation addresses and the old formats that
** embed an IPv4 address are not reachable or not trustworthy. */
static bool is_public_6(const struct in6_addr *address) {
  const unsigned char *b = address->s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(address)) return is_public_4(last_4(b + 12));
  if ((b[0] & 0xE0) != 0x20) return false;
  if (b[0] == 0x20 && b[1] == 0x02)
    return is_public_4(last_4(b + 2)); /* 6to4 */
  if (b[0] == 0x20 && b[1] == 0x01)
    return b[2] != 0 && !(b[2] == 0x0D && b[3] == 0xB8);
  return true;
}

bool http_is_public(const struct sockaddr *address) {
  if (address->sa_family == AF_INET) {
    struct sockaddr_in in;
    memcpy(&in, address, sizeof(in));
    return is_public_4(ntohl(in.sin_addr.s_addr));
  }
  if (address->sa_family == AF_INET6) {
    struct sockaddr_in6 in6;
    memcpy(&in6, address, sizeof(in6));
    return is_public_6(&in6.sin6_addr);
  }
  return false;
}
