# An HTTP server that understands nothing: answers each request with its own bytes, head and body, and with the number
# of the request in X-Number. Prints its port; ends when its standard input does.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

$| = 1;
my $server = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 16, Proto => "tcp") or die $!;
print $server->sockport, "\n";
my $ready = IO::Select->new($server, \*STDIN);
my $number = 0;

# Reads on until the pattern is there, or the client has gone.
sub read_until {
  my ($client, $bytes, $done) = @_;
  while (!$done->($$bytes)) {
    sysread($client, $$bytes, 65536, length $$bytes) or return 0;
  }
  return 1;
}

sub answer {
  my ($client) = @_;
  my $bytes = "";
  read_until($client, \$bytes, sub { index($_[0], "\r\n\r\n") >= 0 }) or return;
  my $head = index($bytes, "\r\n\r\n") + 4;
  if (substr($bytes, 0, $head) =~ /\r\nContent-Length: (\d+)/i) {
    my $size = $head + $1;
    read_until($client, \$bytes, sub { length $_[0] >= $size }) or return;
  } elsif (substr($bytes, 0, $head) =~ /\r\nTransfer-Encoding: chunked/i) {
    read_until($client, \$bytes, sub { substr($_[0], -5) eq "0\r\n\r\n" }) or return;
  }
  $number++;
  my $reply = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nX-Number: $number\r\n"
    . "Connection: close\r\nContent-Length: " . length($bytes) . "\r\n\r\n" . $bytes;
  my $at = 0;
  while ($at < length $reply) {
    my $sent = syswrite($client, $reply, length($reply) - $at, $at) or return;
    $at += $sent;
  }
}

while (1) {
  for my $handle ($ready->can_read) {
    if ($handle != $server) {
      sysread(STDIN, my $byte, 1) or exit;
      next;
    }
    my $client = $server->accept or next;
    answer($client);
    close $client;
  }
}
