GOLD = 'from helper'
